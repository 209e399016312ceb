"""Tests how a broker asks producers about open transactions, gives them up and keeps offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import File, SaveFile, Tell
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC
from gantrymq.broker.core.schedule.system_queue_reader import RECORDS_MAX
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables import open_halves
from gantrymq.broker.core.transaction.transaction_check import GROUP as CHECK_GROUP
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC, rewrite
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.transactions import (
    CHECK_ROUND_SECONDS,
    COMMIT,
    HOST,
    ROLLBACK,
    Transactions,
    asked,
    opened_transactions,
    prepared,
)
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record, decode

OK = ResponseCode.SUCCESS
NO = ResponseCode.SYSTEM_ERROR


def kept(transactions: Transactions) -> tuple[int | None, int | None]:
    offsets = transactions.broker.state.offsets
    return offsets.find(CHECK_GROUP, HALF_TOPIC, 0), offsets.find(CHECK_GROUP, OP_TOPIC, 0)


# ---------------------------------------------------------------------- asking


def test_a_producer_is_asked_about_a_copy_and_can_commit_that() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    (copy,) = asked(producer)
    assert copy.number == half.number + 1
    assert transactions.code(copy, COMMIT, from_check=True) == OK
    assert transactions.delivered() == [b"pay"]
    transactions.broker.pass_time(10 * CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1


def test_the_question_holds_the_message_as_it_was_sent() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    (command,) = producer.told
    shown = decode(command.body)
    assert command.is_oneway
    assert (shown.topic, shown.queue_id, shown.body) == (b"Payments", 2, b"pay")
    assert properties.parse(shown.properties)["TRANSACTION_CHECK_TIMES"] == "1"
    assert command.ext is not None
    assert command.ext["transactionId"] == command.ext["msgId"] == "Upay"
    assert command.ext["topic"] == HALF_TOPIC
    assert command.ext["bname"] == "broker-a"


def test_halves_that_are_read_count_as_pulls_of_the_checks_group() -> None:
    transactions = opened_transactions()
    transactions.connect()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    stats = transactions.broker.state.stats
    series = stats.group(CHECK_GROUP, HALF_TOPIC)
    assert series is not None
    assert series.count == 1
    assert (stats.totals.transferred, stats.totals.plain_transferred) == (1, 0)


def test_a_young_transaction_is_left_alone() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS - 5.0)
    transactions.prepare(b"pay")
    transactions.broker.pass_time(5.0)
    assert not asked(producer)
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1


def test_a_late_decision_about_the_first_half_counts_for_its_copies() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert transactions.code(half, COMMIT) == OK
    assert [transactions.code(copy, ROLLBACK, from_check=True) for copy in asked(producer)] == [
        NO,
        NO,
        NO,
    ]
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert transactions.delivered() == [b"pay"]
    assert len(asked(producer)) == 3


def test_producers_are_asked_in_turn_and_only_those_that_are_there() -> None:
    transactions = opened_transactions()
    gone, first, second = [transactions.connect() for _ in range(3)]
    transactions.connect("others")
    gone.is_closing = True
    for number in range(4):
        transactions.prepare(b"%d" % number)
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert [len(asked(channel)) for channel in (gone, first, second)] == [0, 2, 2]


def test_a_producer_that_came_back_is_asked_in_the_next_round() -> None:
    transactions = opened_transactions()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    texts = [line.text for line in transactions.broker.lines]
    assert any("channel is null. groupId=payers (1)" in text for text in texts)
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1


def test_a_time_of_its_own_is_respected_and_the_decision_found() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    half = transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="200")
    transactions.broker.pass_time(180.0)
    assert not asked(producer)
    assert transactions.code(half, COMMIT) == OK
    transactions.broker.pass_time(180.0)
    assert not asked(producer)
    assert transactions.delivered() == [b"pay"]


def test_beyond_its_own_time_it_is_asked() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="50")
    transactions.broker.pass_time(2 * CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1
    (*_, copy) = transactions.halves()
    assert properties.parse(copy.properties)["TRANSACTION_CHECK_TIMES"] == "1"


# ---------------------------------------------------------------------- giving up


def test_after_fifteen_checks_it_is_given_up() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(15 * CHECK_ROUND_SECONDS)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 0)
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert (len(asked(producer)), transactions.given_up()) == (15, [b"pay"])
    text = transactions.broker.lines[-1].text
    assert "has been checked 15 times, so discard it" in text
    assert transactions.broker.state.topics.find(GIVEN_UP_TOPIC) is not None
    assert transactions.code(half, COMMIT) == NO
    transactions.broker.pass_time(10 * CHECK_ROUND_SECONDS)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 1)


def test_beyond_the_time_that_files_are_kept_it_is_asked_after_like_any_other() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="1000000")
    transactions.broker.now += 71 * 3600.0
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert asked(producer) == []
    transactions.broker.now += 2 * 3600.0
    transactions.broker.pass_time(14 * CHECK_ROUND_SECONDS)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 0)
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert transactions.given_up() == [b"pay"]


def test_a_producer_whose_clock_is_days_late_commits() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS - 0.1)
    record = prepared(transactions.broker, b"pay")
    record.born_timestamp_ms -= 4 * 86_400_000
    half = rewrite(transactions.broker.state, record)
    assert isinstance(half, Record)
    transactions.store(half)
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    *_, last = asked(producer)
    assert transactions.given_up() == []
    assert transactions.code(last, COMMIT) == OK
    assert transactions.delivered() == [b"pay"]


@pytest.mark.parametrize("missing", ["REAL_TOPIC", "PGROUP"])
def test_half_message_without_a_producer_to_ask_is_given_up_at_once(missing: str) -> None:
    transactions = opened_transactions()
    transactions.prepare(b"pay")
    (half,) = transactions.halves()
    transactions.store(
        Record(
            half.topic,
            b"odd",
            properties=properties.delete(half.properties, missing),
            born_timestamp_ms=half.born_timestamp_ms,
            born_host=HOST,
            store_host=HOST,
        )
    )
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert transactions.given_up() == [b"odd"]
    lines = [line.text for line in transactions.broker.lines]
    assert any("does not say its topic, queue and producer group" in text for text in lines)


def test_number_of_checked_open_transactions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_halves, "COPIED_MAX", 2)
    transactions = opened_transactions()
    for body in (b"1", b"2", b"3", b"4"):
        transactions.prepare(body)
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert transactions.broker.state.open_halves.copied == 2
    refused = rewrite(transactions.broker.state, prepared(transactions.broker, b"5"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.NO_PERMISSION
    assert "2 transactions are open and were checked" in refused[1]
    transactions.broker.pass_time(15 * CHECK_ROUND_SECONDS)  # the first two are given up
    assert transactions.given_up() == [b"1", b"2"]
    transactions.broker.pass_time(16 * CHECK_ROUND_SECONDS)
    assert transactions.given_up() == [b"1", b"2", b"3", b"4"]
    transactions.prepare(b"6")


def test_a_half_of_javas_without_room_for_a_copy_is_given_up() -> None:
    transactions = opened_transactions()
    transactions.prepare(b"pay")
    (half,) = transactions.halves()
    filler = "f" * (32_767 - len(half.properties) - 3)
    transactions.store(
        Record(
            half.topic,
            b"wide",
            properties=properties.append(half.properties, "x", filler),
            born_timestamp_ms=half.born_timestamp_ms,
            born_host=HOST,
            store_host=HOST,
        )
    )
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert transactions.given_up() == [b"wide"]


# ---------------------------------------------------------------------- offsets and bounds


def test_offsets_follow_decided_half_messages() -> None:
    transactions = opened_transactions()
    for number in range(10):
        half = transactions.prepare(b"%d" % number)
        transactions.end(half, COMMIT)
    transactions.broker.pass_time(4 * CHECK_ROUND_SECONDS)
    assert kept(transactions) == (10, 10)
    assert b'"RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS":{0:10' in transactions.broker.saved[
        File.OFFSETS
    ].replace(b"\n", b"").replace(b"\t", b"")


def test_ops_behind_an_open_half_are_still_read_at_the_next_start() -> None:
    transactions = opened_transactions(BrokerSettings(transaction_time_out=600_000))
    transactions.prepare(b"open")
    done = [transactions.prepare(b"%d" % number) for number in range(3)]
    for half in done:
        transactions.end(half, COMMIT)
    transactions.broker.pass_time(4 * CHECK_ROUND_SECONDS)
    assert kept(transactions) == (0, 0)
    transactions = transactions.restarted()
    assert [transactions.code(half, COMMIT) for half in done] == [NO] * 3


def test_offsets_are_not_ahead_of_the_disk() -> None:
    transactions = opened_transactions()
    half = transactions.prepare(b"pay")
    transactions.end(half, COMMIT)
    transactions.broker.disk_is_stuck = True
    transactions.broker.pass_time(2 * CHECK_ROUND_SECONDS)
    assert kept(transactions) in {(None, None), (0, 0)}
    transactions.broker.disk_is_stuck = False
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert kept(transactions) == (1, 1)


def test_many_open_transactions_are_checked_a_batch_at_a_time() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    for number in range(1_000):
        transactions.prepare(b"%d" % number)
    turns = _asked_a_turn(transactions.broker, CHECK_ROUND_SECONDS)
    assert max(len(turn) for turn in turns) <= RECORDS_MAX
    producer.told = [tell.command for turn in turns for tell in turn]
    assert len(producer.told) == 1_000
    for copy in asked(producer):
        assert transactions.code(copy, COMMIT, from_check=True) == OK
    assert len(transactions.delivered()) == 1_000
    assert transactions.broker.state.open_halves.first == 2_000


def _asked_a_turn(broker: OpenedBroker, seconds: float) -> Sequence[Sequence[Tell]]:
    """Turn by hand up to then."""
    end, asked_a_turn = broker.now + seconds, []
    while (due := broker.broker.deadline()) <= end:
        broker.now = max(broker.now, due)
        broker.broker.turn(broker.now, broker.wall_ms)
        effects = broker.broker.take_effects()
        for effect in effects:
            if isinstance(effect, SaveFile):
                broker.broker.written(effect.file, None, broker.now, broker.wall_ms)
        asked_a_turn.append([effect for effect in effects if isinstance(effect, Tell)])
        broker.opened.background.complete_all()
    return asked_a_turn


def test_one_slow_transaction_does_not_hold_up_the_offsets() -> None:
    transactions = opened_transactions()
    transactions.connect()
    transactions.prepare(b"slow")
    for _ in range(6):
        for number in range(20):
            half = transactions.prepare(b"%d" % number)
            transactions.end(half, COMMIT)
        transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    first, _ = kept(transactions)
    assert first is not None
    assert first > 80


def test_nothing_is_checked_by_a_slave() -> None:
    transactions = opened_transactions()
    producer = transactions.connect()
    transactions.prepare(b"pay")
    identity = transactions.broker.state.identity
    transactions.broker.state.identity = replace(identity, broker_id=1)
    transactions.broker.state.serves = False
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert not asked(producer)
    transactions.broker.state.identity = identity
    transactions.broker.state.serves = True
    transactions.broker.pass_time(2 * CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1
