"""Sends of producer sessions as requests: what is stored, what is answered, what is refused."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message import batch, properties, sys_flag
from gantrymq.wire.message.batch import BatchPart

SEND = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE


@pytest.fixture
def broker() -> OpenedBroker:
    opened = OpenedBroker()
    add_topic(opened)
    return opened


def send_one(
    broker: OpenedBroker, session: str, body: bytes = b"x", said: dict[str, str] | None = None
) -> Command:
    header = message(properties={"UNIQ_KEY": "U", **(said or {})})
    return broker.ask(SEND, header, body, ext={"gantrySession": session})


def send_batch(broker: OpenedBroker, session: str, *bodies: bytes) -> Command:
    parts = [BatchPart(body, flag=0, properties=b"KEYS\x01k\x02") for body in bodies]
    header = message(batch=True, properties={})
    return broker.ask(BATCH, header, batch.encode(parts), ext={"gantrySession": session})


def stored(broker: OpenedBroker) -> list[tuple[bytes, str | None]]:
    return [
        (record.body, properties.get(record.properties, "GANTRY_SESSION"))
        for record in broker.opened.records("T", 0)
    ]


def test_each_message_of_a_batch_has_its_place_in_the_session(broker: OpenedBroker) -> None:
    answer = send_batch(broker, "s:3:0", b"0", b"1")
    assert answer.code == ResponseCode.SUCCESS
    assert (answer.ext or {})["gantryRepeats"] == "0"
    assert stored(broker) == [(b"0", "s:3:0"), (b"1", "s:3:1")]


def test_a_repeated_batch_is_answered_as_stored(broker: OpenedBroker) -> None:
    send_batch(broker, "s:3:0", b"0", b"1")
    answer = send_batch(broker, "s:3:0", b"0", b"1")
    assert answer.code == ResponseCode.SUCCESS
    assert answer.ext is not None
    assert answer.ext["gantryRepeats"] == "2"
    assert answer.ext["queueOffset"] == "-1"
    assert len(stored(broker)) == 2
    assert broker.state.stats.totals.puts == 2


def test_the_new_rest_of_a_batch_is_stored(broker: OpenedBroker) -> None:
    send_batch(broker, "s:3:0", b"0", b"1")
    answer = send_batch(broker, "s:3:1", b"1", b"2", b"3")
    assert answer.ext is not None
    assert (answer.ext["gantryRepeats"], answer.ext["queueOffset"]) == ("1", "2")
    assert [body for body, _ in stored(broker)] == [b"0", b"1", b"2", b"3"]


def test_one_message_alone_may_be_of_a_session(broker: OpenedBroker) -> None:
    send_one(broker, "s:3:0")
    assert (send_one(broker, "s:3:0").ext or {})["gantryRepeats"] == "1"
    assert stored(broker) == [(b"x", "s:3:0")]


def test_a_delayed_message_is_held_back_once(broker: OpenedBroker) -> None:
    send_one(broker, "s:3:0", said={"DELAY": "1"})
    send_one(broker, "s:3:0", said={"DELAY": "1"})
    assert len(broker.opened.records("SCHEDULE_TOPIC_XXXX", 0)) == 1
    broker.pass_time(2.0)
    assert [body for body, _ in stored(broker)] == [b"x"]
    assert (send_one(broker, "s:3:0", said={"DELAY": "1"}).ext or {})["gantryRepeats"] == "1"


def test_a_place_that_an_ordinary_sender_gives_itself_is_taken_away(broker: OpenedBroker) -> None:
    own = {"UNIQ_KEY": "U", "GANTRY_SESSION": "s:9:9"}
    broker.ask(SEND, message(properties=own), b"1")
    parts = [BatchPart(b"2", flag=0, properties=b"GANTRY_SESSION\x01s:9:9\x02")]
    broker.ask(BATCH, message(batch=True, properties=own), batch.encode(parts))
    assert stored(broker) == [(b"1", None), (b"2", None)]
    assert len(broker.opened.store.sessions) == 0


def test_a_gap_and_an_older_epoch_have_codes_of_their_own(broker: OpenedBroker) -> None:
    send_batch(broker, "s:3:0", b"0")
    gap, fenced = send_batch(broker, "s:3:2", b"2"), send_batch(broker, "s:2:1", b"1")
    assert gap.code == ResponseCode.GANTRY_SESSION_OUT_OF_SEQUENCE
    assert fenced.code == ResponseCode.GANTRY_SESSION_FENCED
    assert broker.opened.store.sessions.refused == 2


@pytest.mark.parametrize("session", ["", "s", "s:1", "s:1:x", "s:1:-1", "\x02:1:1"])
def test_a_session_that_is_none_is_refused(broker: OpenedBroker, session: str) -> None:
    answer = send_one(broker, session)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "id:epoch:number" in (answer.remark or "")


def test_transactions_and_retries_are_of_no_session(broker: OpenedBroker) -> None:
    half = message(sys_flag=sys_flag.TRANSACTION_PREPARED)
    answer = broker.ask(SEND, half, b"x", ext={"gantrySession": "s:1:0"})
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    retry = broker.ask(SEND, message("%RETRY%G"), b"x", ext={"gantrySession": "s:1:0"})
    assert retry.code == ResponseCode.MESSAGE_ILLEGAL
