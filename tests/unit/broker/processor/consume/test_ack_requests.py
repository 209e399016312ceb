"""Acknowledgements, one by one and many at once, keeping out, and queues that are in order."""

from __future__ import annotations

import base64

import pytest

from gantrymq.fakes.brokers.pops import RETRY, Popped, PoppedBroker, bodies, messages
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import JsonObject


def moved(message: Popped, answer: Command) -> Popped:
    """The message under the handle that the client makes of this answer."""
    ext = answer.ext or {}
    kind = message.handle.split(" ")[4]
    handle = (
        f"{message.offset} {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} {kind}"
        f" broker-a {message.queue_id} {message.offset}"
    )
    return Popped(
        message.body,
        message.topic,
        message.queue_id,
        message.offset,
        handle,
        message.times,
        message.named,
    )


# ---------------------------------------------------------------------- keeping out


def test_a_message_is_kept_out_longer() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped(invisible_time=10_000)
    broker.broker.pass_time(5)
    answer = broker.keep_out(message, 60_000)
    assert answer.code == ResponseCode.SUCCESS
    broker.broker.pass_time(50)
    assert broker.popped() == []
    assert broker.ack(moved(message, answer)).code == ResponseCode.SUCCESS
    broker.broker.pass_time(60)
    assert broker.popped() == []


def test_a_message_that_failed_comes_again_soon() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped(invisible_time=300_000)
    broker.keep_out(message, 1_000)
    broker.broker.pass_time(4)
    (again,) = broker.popped()
    assert (again.body, again.times) == ("a", 1)


def test_old_handle_is_invalid_after_a_change_of_invisible_time() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped()
    broker.keep_out(message, 10_000)
    assert broker.ack(message).code == ResponseCode.SUCCESS
    assert broker.keep_out(message, 10_000).code == ResponseCode.NO_MESSAGE
    broker.broker.pass_time(13)
    assert bodies(broker.popped()) == ["a"]


def test_messages_that_come_again_can_be_kept_out_too() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped(invisible_time=1_000)
    broker.broker.pass_time(4)
    (again,) = broker.popped()
    answer = broker.keep_out(again, 5_000)
    assert broker.ack(moved(again, answer)).code == ResponseCode.SUCCESS
    broker.broker.pass_time(60)
    assert broker.popped() == []
    assert broker.stored(RETRY) == 1


# ---------------------------------------------------------------------- many at once


def batch(broker: PoppedBroker, *acks: JsonObject) -> Command:
    body = javajson.dumps_fastjson({"brokerName": "broker-a", "acks": list(acks)})
    return broker.broker.ask(RequestCode.BATCH_ACK_MESSAGE, body=body)


def entry(message: Popped, *bits: int, **others: object) -> JsonObject:
    start, pop_ms, invisible_ms, revive_queue, kind, _, queue_id, _ = message.handle.split(" ")
    number = sum(1 << bit for bit in bits)
    data = number.to_bytes((number.bit_length() + 7) // 8, "little")
    return {
        "c": "G",
        "t": "T",
        "r": kind,
        "so": int(start),
        "q": int(queue_id),
        "rq": int(revive_queue),
        "pt": int(pop_ms),
        "it": int(invisible_ms),
        "b": base64.b64encode(data).decode(),
    }


def test_many_are_acknowledged_at_once() -> None:
    broker = PoppedBroker()
    broker.store(*"abcdefghijkl")
    found = broker.popped()
    answer = batch(broker, entry(found[0], *range(5), *range(6, 12), 40))
    assert answer.code == ResponseCode.SUCCESS
    broker.broker.pass_time(65)
    (again,) = broker.popped()
    assert again.body == "f"
    assert batch(broker, entry(again, 0)).code == ResponseCode.SUCCESS
    broker.broker.pass_time(65)
    assert broker.popped() == []


def test_the_long_names_and_javas_bytes_are_read_as_well() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped()
    answer = batch(
        broker,
        {
            "consumerGroup": "G",
            "topic": "T",
            "retry": "0",
            "startOffset": 0,
            "queueId": 0,
            "reviveQueueId": 0,
            "popTime": int(first.handle.split(" ")[1]),
            "bitSet": [3, -128],
        },
    )
    assert answer.code == ResponseCode.SUCCESS
    assert broker.stored() == 2


@pytest.mark.parametrize("acks", [[], [{"c": "G", "t": "T", "r": "0", "b": ""}]])
def test_batch_acknowledgement_without_a_known_message_is_refused(acks: list[JsonObject]) -> None:
    assert batch(PoppedBroker(), *acks).code == ResponseCode.NO_MESSAGE


def test_more_than_a_request_may_acknowledge_is_refused_and_said() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped()
    answer = batch(broker, *[entry(message, *range(5_001))] * 2)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "10002 messages" in (answer.remark or "")


def test_bits_without_end_are_refused() -> None:
    answer = batch(PoppedBroker(), {"c": "G", "t": "T", "r": "0", "b": "////" * 30_000})
    assert answer.code == ResponseCode.SYSTEM_ERROR


# ---------------------------------------------------------------------- what is refused


def test_handle_that_no_pop_can_have_returned_is_refused() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped()
    beyond = Popped("", "T", 0, 7, message.handle, 0, {})
    other = Popped("", "T", 9, 0, message.handle, 0, {})
    unknown = Popped("", "NONE", 0, 0, message.handle, 0, {})
    codes = [broker.ack(each).code for each in (beyond, other, unknown)]
    assert codes == [
        ResponseCode.NO_MESSAGE,
        ResponseCode.MESSAGE_ILLEGAL,
        ResponseCode.TOPIC_NOT_EXIST,
    ]
    assert broker.keep_out(message, -1).code == ResponseCode.INVALID_PARAMETER


@pytest.mark.parametrize("handle", ["17", "0 1 2", "0 x 60000 0 0 b 0 0"])
def test_a_handle_that_is_none_is_refused(handle: str) -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped()
    answer = broker.ack(message, handle)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "receipt handle" in (answer.remark or "")


# ---------------------------------------------------------------------- in order


def test_a_queue_in_order_waits_for_its_batch() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    first, second = broker.popped(order="true", max_msg_nums=2)
    assert first.handle.split(" ")[3] == "999"
    assert broker.popped(order="true") == []
    broker.ack(first)
    assert broker.popped(order="true") == []
    broker.ack(second)
    assert broker.stored() == 2
    assert bodies(broker.popped(order="true")) == ["c"]


def test_waiting_ordered_pop_gets_the_queue_when_it_is_free() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    (first,) = broker.popped(order="true", max_msg_nums=1)
    waiting = broker.pop(order="true")
    assert broker.broker.is_held(waiting)
    broker.ack(first)
    assert bodies(messages(broker.answer(waiting))) == ["b"]


def test_a_batch_in_order_comes_again_from_its_queue() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    first, _ = broker.popped(order="true", max_msg_nums=2, invisible_time=10_000)
    broker.ack(first)
    waiting = broker.pop(order="true", invisible_time=10_000)
    broker.broker.pass_time(11)
    again = messages(broker.answer(waiting))
    assert [(each.body, each.times) for each in again] == [("b", 1), ("c", 0)]
    assert broker.state.topics.find(RETRY) is None


def test_the_same_attempt_gets_the_same_batch() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    one = {"order": "true", "max_msg_nums": 1, "attempt_id": "x"}
    assert bodies(broker.popped(**one)) == ["a"]
    assert [(each.body, each.times) for each in broker.popped(**one)] == [("a", 0)]
    assert broker.popped(**{**one, "attempt_id": "y"}) == []


def test_failed_ordered_message_is_due_after_its_invisible_time() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped(order="true", invisible_time=300_000)
    second_answer = broker.keep_out(first, 3_000)
    assert second_answer.code == ResponseCode.SUCCESS
    broker.broker.pass_time(4)
    assert broker.popped(order="true") == []


def test_acknowledging_out_of_the_batch_is_illegal() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    (first,) = broker.popped(order="true", max_msg_nums=1)
    other = Popped("b", "T", 0, 1, first.handle, 0, {})
    assert broker.ack(other).code == ResponseCode.MESSAGE_ILLEGAL
    assert broker.ack(first).code == ResponseCode.SUCCESS
    assert broker.ack(first).code == ResponseCode.SUCCESS


def test_a_crash_brings_a_batch_in_order_back_at_once() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped(order="true")
    broker.ack(first)
    broker.broker.pass_time(11)
    again = PoppedBroker(disk=broker.broker.opened.disk, files=broker.broker.saved)
    assert bodies(again.popped(order="true")) == ["b"]


def test_late_ordered_acknowledgement_after_a_crash_skips_no_message() -> None:
    broker = PoppedBroker()
    broker.store(*"abcd")
    first, second, _, last = broker.popped(order="true")
    broker.broker.pass_time(11)
    again = PoppedBroker(disk=broker.broker.opened.disk, files=broker.broker.saved)
    assert [again.ack(each).code for each in (last, second)] == [ResponseCode.SUCCESS] * 2
    assert again.stored() == 0
    assert again.ack(first).code == ResponseCode.SUCCESS
    assert again.ack(second).code == ResponseCode.SUCCESS
    assert bodies(again.popped(order="true")) == ["c", "d"]
