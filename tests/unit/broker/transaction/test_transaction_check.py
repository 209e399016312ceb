from collections.abc import Sequence
from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import File, SaveFile, Tell
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC
from gantrymq.broker.core.schedule.system_queue_reader import RECORDS_MAX
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables import open_halves
from gantrymq.broker.core.transaction.transaction_check import GROUP as CHECK_GROUP
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC, copy_of, op_of, rewrite
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.transactions import (
    COMMIT,
    HOST,
    ROLLBACK,
    Transactions,
    asked,
    prepared,
)
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record, decode

OK = ResponseCode.SUCCESS
NO = ResponseCode.SYSTEM_ERROR
ROUND = 30.0


def opened(settings: BrokerSettings | None = None) -> Transactions:
    transactions = Transactions(OpenedBroker(settings))
    transactions.broker.settle()
    return transactions


def kept(transactions: Transactions) -> tuple[int | None, int | None]:
    offsets = transactions.broker.state.offsets
    return offsets.find(CHECK_GROUP, HALF_TOPIC, 0), offsets.find(CHECK_GROUP, OP_TOPIC, 0)


# ---------------------------------------------------------------------- asking


def test_a_producer_is_asked_about_a_copy_and_can_commit_that() -> None:
    transactions = opened()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(ROUND)
    (copy,) = asked(producer)
    assert copy.number == half.number + 1
    assert transactions.code(copy, COMMIT, from_check=True) == OK
    assert transactions.delivered() == [b"pay"]
    transactions.broker.pass_time(10 * ROUND)
    assert len(asked(producer)) == 1


def test_the_question_holds_the_message_as_it_was_sent() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(ROUND)
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
    transactions = opened()
    transactions.connect()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(ROUND)
    stats = transactions.broker.state.stats
    series = stats.group(CHECK_GROUP, HALF_TOPIC)
    assert series is not None
    assert series.count == 1
    assert (stats.totals.transferred, stats.totals.plain_transferred) == (1, 0)


def test_a_young_transaction_is_left_alone() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND - 5.0)
    transactions.prepare(b"pay")
    transactions.broker.pass_time(5.0)
    assert not asked(producer)
    transactions.broker.pass_time(ROUND)
    assert len(asked(producer)) == 1


def test_a_late_decision_about_the_first_half_counts_for_its_copies() -> None:
    transactions = opened()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * ROUND)
    assert transactions.code(half, COMMIT) == OK
    assert [transactions.code(copy, ROLLBACK, from_check=True) for copy in asked(producer)] == [
        NO,
        NO,
        NO,
    ]
    transactions.broker.pass_time(3 * ROUND)
    assert transactions.delivered() == [b"pay"]
    assert len(asked(producer)) == 3


def test_producers_are_asked_in_turn_and_only_those_that_are_there() -> None:
    transactions = opened()
    gone, first, second = [transactions.connect() for _ in range(3)]
    transactions.connect("others")
    gone.is_closing = True
    for number in range(4):
        transactions.prepare(b"%d" % number)
    transactions.broker.pass_time(ROUND)
    assert [len(asked(channel)) for channel in (gone, first, second)] == [0, 2, 2]


def test_a_producer_that_came_back_is_asked_in_the_next_round() -> None:
    transactions = opened()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(ROUND)
    texts = [line.text for line in transactions.broker.lines]
    assert any("channel is null. groupId=payers (1)" in text for text in texts)
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND)
    assert len(asked(producer)) == 1


def test_a_time_of_its_own_is_respected_and_the_decision_found() -> None:
    transactions = opened()
    producer = transactions.connect()
    half = transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="200")
    transactions.broker.pass_time(180.0)
    assert not asked(producer)
    assert transactions.code(half, COMMIT) == OK
    transactions.broker.pass_time(180.0)
    assert not asked(producer)
    assert transactions.delivered() == [b"pay"]


def test_beyond_its_own_time_it_is_asked() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="50")
    transactions.broker.pass_time(2 * ROUND)
    assert len(asked(producer)) == 1
    (*_, copy) = transactions.halves()
    assert properties.parse(copy.properties)["TRANSACTION_CHECK_TIMES"] == "1"


# ---------------------------------------------------------------------- giving up


def test_after_fifteen_checks_it_is_given_up() -> None:
    transactions = opened()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(15 * ROUND)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 0)
    transactions.broker.pass_time(ROUND)
    assert (len(asked(producer)), transactions.given_up()) == (15, [b"pay"])
    text = transactions.broker.lines[-1].text
    assert "has been checked 15 times, so discard it" in text
    assert transactions.broker.state.topics.find(GIVEN_UP_TOPIC) is not None
    assert transactions.code(half, COMMIT) == NO
    transactions.broker.pass_time(10 * ROUND)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 1)


def test_beyond_the_time_that_files_are_kept_it_is_asked_after_like_any_other() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="1000000")
    transactions.broker.now += 71 * 3600.0
    transactions.broker.pass_time(ROUND)
    assert asked(producer) == []
    transactions.broker.now += 2 * 3600.0
    transactions.broker.pass_time(14 * ROUND)
    assert (len(asked(producer)), len(transactions.given_up())) == (15, 0)
    transactions.broker.pass_time(ROUND)
    assert transactions.given_up() == [b"pay"]


def test_a_producer_whose_clock_is_days_late_commits() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND - 0.1)
    record = prepared(transactions.broker, b"pay")
    record.born_timestamp_ms -= 4 * 86_400_000
    half = rewrite(transactions.broker.state, record)
    assert isinstance(half, Record)
    transactions.store(half)
    transactions.broker.pass_time(3 * ROUND)
    *_, last = asked(producer)
    assert transactions.given_up() == []
    assert transactions.code(last, COMMIT) == OK
    assert transactions.delivered() == [b"pay"]


@pytest.mark.parametrize("missing", ["REAL_TOPIC", "PGROUP"])
def test_half_message_without_a_producer_to_ask_is_given_up_at_once(missing: str) -> None:
    transactions = opened()
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
    transactions.broker.pass_time(ROUND)
    assert transactions.given_up() == [b"odd"]
    lines = [line.text for line in transactions.broker.lines]
    assert any("does not say its topic, queue and producer group" in text for text in lines)


def test_so_many_are_open_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_halves, "COPIED_MAX", 2)
    transactions = opened()
    for body in (b"1", b"2", b"3", b"4"):
        transactions.prepare(body)
    transactions.broker.pass_time(ROUND)
    assert transactions.broker.state.open_halves.copied == 2
    refused = rewrite(transactions.broker.state, prepared(transactions.broker, b"5"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.NO_PERMISSION
    assert "2 transactions are open and were checked" in refused[1]
    transactions.broker.pass_time(15 * ROUND)  # the first two are given up
    assert transactions.given_up() == [b"1", b"2"]
    transactions.broker.pass_time(16 * ROUND)
    assert transactions.given_up() == [b"1", b"2", b"3", b"4"]
    transactions.prepare(b"6")


def test_a_half_of_javas_without_room_for_a_copy_is_given_up() -> None:
    transactions = opened()
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
    transactions.broker.pass_time(ROUND)
    assert transactions.given_up() == [b"wide"]


# ---------------------------------------------------------------------- restarts


def test_a_restart_goes_on_where_the_checks_were() -> None:
    transactions = opened()
    open_half = transactions.prepare(b"open")
    done_half = transactions.prepare(b"done")
    transactions.end(done_half, COMMIT)
    transactions.broker.pass_time(3 * ROUND)
    transactions = transactions.restarted()
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND)
    assert len(asked(producer)) == 1
    (*_, copy) = transactions.halves()
    assert properties.parse(copy.properties)["TRANSACTION_CHECK_TIMES"] == "4"
    assert transactions.code(open_half, COMMIT) == OK
    assert transactions.delivered() == [b"done", b"open"]


def test_without_any_offsets_the_queues_alone_say_what_is_open() -> None:
    transactions = opened()
    halves = [transactions.prepare(b"%d" % number) for number in range(4)]
    transactions.end(halves[0], COMMIT)
    transactions.end(halves[2], ROLLBACK)
    transactions.broker.pass_time(2 * ROUND)
    transactions = transactions.restarted(keeps_files=False)
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND)
    assert [transactions.code(copy, COMMIT, from_check=True) for copy in asked(producer)] == [
        OK,
        OK,
    ]
    transactions.broker.pass_time(3 * ROUND)
    assert transactions.delivered() == [b"0", b"1", b"3"]
    assert len(asked(producer)) == 2


def test_after_a_restart_a_decision_about_the_first_half_still_finds_its_copy() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * ROUND)
    transactions = transactions.restarted()
    assert transactions.code(half, COMMIT) == OK
    assert transactions.ops() == [0, 1, 2, 3]


def test_after_a_restart_without_offsets_nothing_is_delivered_again() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * ROUND)
    transactions.end(half, COMMIT)
    transactions = transactions.restarted(keeps_files=False)
    producer = transactions.connect()
    transactions.broker.pass_time(3 * ROUND)
    assert not asked(producer)
    assert transactions.code(half, COMMIT) == NO
    assert transactions.delivered() == [b"pay"]


def test_a_crash_between_a_copy_and_its_op_leaves_one_transaction() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    (record,) = transactions.halves()
    copy = transactions.store(copy_of(record, checks=1))
    transactions = transactions.restarted()
    assert half.number in transactions.ops()
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND)
    assert len(asked(producer)) == 1
    assert transactions.code(copy, COMMIT) == OK
    assert transactions.code(half, COMMIT) == NO
    assert transactions.delivered() == [b"pay"]


def test_both_forms_of_ops_are_read() -> None:
    transactions = opened()
    for number in range(5):
        transactions.prepare(b"%d" % number)
    state = transactions.broker.state
    joined = op_of(state, 0)
    joined.body = b"0,3,"
    strange = op_of(state, 1)
    strange.body = b"x,-1,99999999999999999999999,6,,"  # there is no half 6 yet
    foreign = op_of(state, 2)
    foreign.properties = b"TAGS\x01z\x02"
    for op in (joined, op_of(state, 1), strange, foreign):
        transactions.store(op)
    transactions = transactions.restarted()
    producer = transactions.connect()
    transactions.broker.pass_time(ROUND)
    assert [decode(command.body).body for command in producer.told] == [b"2", b"4"]
    assert [transactions.code(copy, COMMIT, from_check=True) for copy in asked(producer)] == [
        OK,
        OK,
    ]


def test_decisions_wait_until_the_queues_have_been_read() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, ROLLBACK)
    transactions.broker.state.open_halves.forget()
    request = transactions.start(half, COMMIT)
    assert transactions.broker.is_held(request)
    transactions.broker.pass_time(5.1)
    answer = transactions.broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    transactions.broker.pass_time(ROUND)
    assert transactions.code(half, COMMIT) == NO


# ---------------------------------------------------------------------- offsets and bounds


def test_offsets_follow_what_is_done_with() -> None:
    transactions = opened()
    for number in range(10):
        half = transactions.prepare(b"%d" % number)
        transactions.end(half, COMMIT)
    transactions.broker.pass_time(4 * ROUND)
    assert kept(transactions) == (10, 10)
    assert b'"RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS":{0:10' in transactions.broker.saved[
        File.OFFSETS
    ].replace(b"\n", b"").replace(b"\t", b"")


def test_ops_behind_an_open_half_are_still_read_at_the_next_start() -> None:
    transactions = opened(BrokerSettings(transaction_time_out=600_000))
    transactions.prepare(b"open")
    done = [transactions.prepare(b"%d" % number) for number in range(3)]
    for half in done:
        transactions.end(half, COMMIT)
    transactions.broker.pass_time(4 * ROUND)
    assert kept(transactions) == (0, 0)
    transactions = transactions.restarted()
    assert [transactions.code(half, COMMIT) for half in done] == [NO] * 3


def test_offsets_are_not_ahead_of_the_disk() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, COMMIT)
    transactions.broker.disk_is_stuck = True
    transactions.broker.pass_time(2 * ROUND)
    assert kept(transactions) in {(None, None), (0, 0)}
    transactions.broker.disk_is_stuck = False
    transactions.broker.pass_time(3 * ROUND)
    assert kept(transactions) == (1, 1)


def test_many_open_transactions_are_checked_a_batch_at_a_time() -> None:
    transactions = opened()
    producer = transactions.connect()
    for number in range(1_000):
        transactions.prepare(b"%d" % number)
    turns = _asked_a_turn(transactions.broker, ROUND)
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
    transactions = opened()
    transactions.connect()
    transactions.prepare(b"slow")
    for _ in range(6):
        for number in range(20):
            half = transactions.prepare(b"%d" % number)
            transactions.end(half, COMMIT)
        transactions.broker.pass_time(ROUND)
    first, _ = kept(transactions)
    assert first is not None
    assert first > 80


def test_nothing_is_checked_by_a_slave() -> None:
    transactions = opened()
    producer = transactions.connect()
    transactions.prepare(b"pay")
    identity = transactions.broker.state.identity
    transactions.broker.state.identity = replace(identity, broker_id=1)
    transactions.broker.state.serves = False
    transactions.broker.pass_time(3 * ROUND)
    assert not asked(producer)
    transactions.broker.state.identity = identity
    transactions.broker.state.serves = True
    transactions.broker.pass_time(2 * ROUND)
    assert len(asked(producer)) == 1
