"""Tests which messages a pop returns, how long they stay invisible, and when they return."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.pops import RETRY, PoppedBroker, bodies, messages
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.pop import NotificationRequest, PeekMessageRequest, PollingInfoRequest


def test_popped_messages_are_invisible_to_other_consumers() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    assert bodies(broker.popped(max_msg_nums=2)) == ["a", "b"]
    assert bodies(broker.popped()) == ["c"]
    assert broker.popped() == []


def test_answer_has_the_fields_from_which_clients_make_handles() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    answer = broker.answer(broker.pop(max_msg_nums=1))
    ext = answer.ext or {}
    assert answer.remark == "FOUND"
    assert (ext["startOffsetInfo"], ext["msgOffsetInfo"]) == ("0 0 0", "0 0 0")
    assert (ext["restNum"], ext["reviveQid"], ext["invisibleTime"]) == ("1", "0", "60000")
    assert ext["popTime"] == str(broker.broker.wall_ms)


def test_all_queues_are_popped_at_once() -> None:
    broker = PoppedBroker()
    for queue_id in range(4):
        broker.store(f"q{queue_id}", queue_id=queue_id)
    found = broker.popped(queue_id=-1)
    assert sorted(bodies(found)) == ["q0", "q1", "q2", "q3"]
    for message in found:
        broker.ack(message)
    assert [broker.stored(queue_id=queue_id) for queue_id in range(4)] == [1, 1, 1, 1]


def test_acknowledged_messages_move_the_offset_and_never_come_again() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, second = broker.popped()
    broker.ack(second)
    assert broker.stored() == 0
    broker.ack(first)
    assert broker.stored() == 2
    broker.broker.pass_time(120)
    assert broker.popped() == []


def test_unacknowledged_message_comes_again_from_the_retry_topic() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", KEYS="k")
    first, second = broker.popped()
    broker.ack(first)
    broker.broker.pass_time(58)
    assert broker.popped() == []
    broker.broker.pass_time(5)
    (again,) = broker.popped()
    assert (again.body, again.topic, again.times) == ("b", "T", 1)
    assert again.named["KEYS"] == "k"
    assert again.named["1ST_POP_TIME"] == second.handle.split(" ")[1]
    assert again.real_topic == RETRY
    assert broker.ack(again).code == ResponseCode.SUCCESS
    broker.broker.pass_time(120)
    assert broker.popped() == []
    assert (broker.stored(), broker.stored(RETRY)) == (2, 1)


def test_unacknowledged_message_comes_again_each_time() -> None:
    broker = PoppedBroker()
    broker.store("a")
    times = []
    for _ in range(4):
        (message,) = broker.popped()
        times.append(message.times)
        broker.broker.pass_time(65)
    assert times == [0, 1, 2, 3]


def test_late_acknowledgement_is_accepted_without_effect() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped()
    broker.broker.pass_time(65)
    assert broker.ack(message).code == ResponseCode.SUCCESS
    assert bodies(broker.popped()) == ["a"]


def test_a_filter_lets_only_its_tags_out() -> None:
    broker = PoppedBroker()
    broker.store("a", TAGS="A")
    broker.store("b", TAGS="B")
    assert bodies(broker.popped(exp="B", exp_type="TAG")) == ["b"]
    assert broker.popped(exp="C", exp_type="TAG") == []


def test_message_that_the_filter_rejects_counts_as_consumed() -> None:
    broker = PoppedBroker()
    broker.store("a", TAGS="A")
    assert broker.popped(exp="C", exp_type="TAG") == []
    assert broker.stored() == 1


def test_sql92_filter_applies_to_redelivered_messages() -> None:
    broker = PoppedBroker()
    broker.store("low", n="1")
    broker.store("high", n="9")
    wanted = {"exp": "n > 5", "exp_type": "SQL92"}
    assert bodies(broker.popped(**wanted)) == ["high"]
    broker.broker.pass_time(65)
    assert bodies(broker.popped(**wanted)) == ["high"]


def test_a_pop_waits_until_something_arrives() -> None:
    broker = PoppedBroker()
    waiting = broker.pop(queue_id=-1)
    assert broker.broker.is_held(waiting)
    broker.store("a", queue_id=2)
    assert bodies(messages(broker.answer(waiting))) == ["a"]


def test_message_does_not_wake_a_pop_of_another_queue() -> None:
    broker = PoppedBroker()
    waiting = broker.pop(queue_id=1)
    broker.store("a", queue_id=2)
    assert broker.broker.is_held(waiting)


def test_waiting_pop_gets_a_message_that_becomes_visible_again() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped(invisible_time=5_000)
    waiting = broker.pop()
    broker.broker.pass_time(8)
    assert bodies(messages(broker.answer(waiting))) == ["a"]


def test_one_message_goes_to_one_of_many_waiting_pops() -> None:
    broker = PoppedBroker()
    requests = [broker.pop() for _ in range(3)]
    broker.store("a")
    held = [broker.broker.is_held(request) for request in requests]
    assert held == [False, True, True]
    broker.store("b", "c")
    assert not broker.broker.is_held(requests[1])


def test_time_is_up() -> None:
    broker = PoppedBroker()
    waiting = broker.pop(poll_time=3_000)
    broker.broker.pass_time(2.5)
    assert broker.broker.is_held(waiting)
    broker.broker.pass_time(1)
    answer = broker.answer(waiting)
    assert (answer.code, answer.remark) == (ResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")
    assert (answer.ext or {})["restNum"] == "0"


def test_pop_of_a_closed_connection_takes_no_message() -> None:
    broker = PoppedBroker()
    channel = FakeChannel()
    waiting = broker.pop(channel=channel)
    broker.broker.close(channel)
    broker.store("a")
    assert broker.broker.answer(waiting) is None
    assert bodies(broker.popped()) == ["a"]


def test_group_that_begins_at_the_end_gets_the_newest_message() -> None:
    broker = PoppedBroker()
    broker.store("old", "newest")
    broker.state.memory_bytes = 0
    assert bodies(broker.popped(init_mode=1)) == ["newest"]


@pytest.mark.parametrize(
    ("fields", "code", "word"),
    [
        ({"topic": "NONE"}, ResponseCode.TOPIC_NOT_EXIST, "not exist"),
        ({"queue_id": 4}, ResponseCode.INVALID_PARAMETER, "queueId[4] is illegal"),
        ({"max_msg_nums": 33}, ResponseCode.INVALID_PARAMETER, "greater than 32"),
        ({"max_msg_nums": 0}, ResponseCode.INVALID_PARAMETER, "less than 1"),
        ({"invisible_time": -1}, ResponseCode.INVALID_PARAMETER, "invisibleTime is -1"),
        ({"exp": "n >", "exp_type": "SQL92"}, ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse"),
        ({"consumer_group": "G" * 250}, ResponseCode.INVALID_PARAMETER, "shorten"),
        ({"attempt_id": "x" * 257}, ResponseCode.INVALID_PARAMETER, "attemptId has 257 characters"),
    ],
)
def test_invalid_pop_is_refused_with_its_reason(
    fields: dict[str, object], code: int, word: str
) -> None:
    broker = PoppedBroker()
    answer = broker.answer(broker.pop(channel=None, **fields))
    assert answer.code == code
    assert word in (answer.remark or "")


def test_the_fast_port_serves_no_pops() -> None:
    broker = PoppedBroker()
    answer = broker.answer(broker.pop(channel=FakeChannel("fast")))
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


# ---------------------------------------------------------------------- resets


def test_a_reset_has_the_group_go_on_there() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    _, second, _ = broker.popped()
    broker.broker.pass_time(1)
    broker.state.offsets.commit("G", "T", 0, 1)
    broker.state.resets.assign("G", "T", 0, 1)
    assert bodies(broker.popped()) == ["b", "c"]
    broker.ack(second)
    broker.broker.pass_time(65)
    assert sorted(bodies(broker.popped())) == ["a", "b", "c"]


def test_offset_behind_the_end_of_the_queue_skips_no_later_message() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.state.offsets.commit("G", "T", 0, 99)
    assert broker.popped() == []
    broker.store("b")
    assert bodies(broker.popped()) == ["b"]


def test_in_flight_messages_of_a_deleted_topic_are_dropped() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped()
    broker.state.topics.remove("T", broker.broker.wall_ms)
    broker.broker.pass_time(65)
    assert len(broker.state.in_flight) == 0
    assert any("topic T was deleted" in line.text for line in broker.broker.lines)


# ---------------------------------------------------------------------- looking only


def test_a_peek_takes_nothing() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    header = PeekMessageRequest(topic="T", queue_id=-1, max_msg_nums=1, consumer_group="G")
    answer = broker.broker.ask(RequestCode.PEEK_MESSAGE, header)
    assert (bodies(messages(answer)), (answer.ext or {})["restNum"]) == (["a"], "1")
    assert bodies(broker.popped()) == ["a", "b"]
    assert broker.broker.ask(RequestCode.PEEK_MESSAGE, header).code == ResponseCode.PULL_NOT_FOUND


def notice(poll_ms: int) -> NotificationRequest:
    return NotificationRequest(
        consumer_group="G", topic="T", queue_id=-1, poll_time=poll_ms, born_time=0
    )


def test_a_notification_says_whether_there_is_something() -> None:
    broker = PoppedBroker()
    answer = broker.broker.ask(RequestCode.NOTIFICATION, notice(0))
    assert (answer.ext or {})["hasMsg"] == "false"
    broker.store("a")
    answer = broker.broker.ask(RequestCode.NOTIFICATION, notice(0))
    assert (answer.ext or {})["hasMsg"] == "true"


def test_a_notification_waits_for_it() -> None:
    broker = PoppedBroker()
    waiting = broker.broker.send(RequestCode.NOTIFICATION, notice(10_000))
    late = broker.broker.send(RequestCode.NOTIFICATION, notice(2_000))
    broker.broker.pass_time(3)
    assert (broker.answer(late).ext or {})["hasMsg"] == "false"
    broker.store("a")
    assert (broker.answer(waiting).ext or {})["hasMsg"] == "true"


def test_waiting_pops_are_counted() -> None:
    broker = PoppedBroker()
    for queue_id in (-1, -1, 2):
        broker.pop(queue_id=queue_id)
    header = PollingInfoRequest(consumer_group="G", topic="T", queue_id=-1)
    answer = broker.broker.ask(RequestCode.POLLING_INFO, header)
    assert (answer.ext or {})["pollingNum"] == "2"


@pytest.mark.parametrize("queue_id", [0, -1])
def test_message_that_arrives_while_a_pop_reads_the_disk_is_not_missed(queue_id: int) -> None:
    disk = MemoryDisk()
    before = PoppedBroker(disk=disk)
    before.store("a", "b", TAGS="others")
    before.popped(exp="others", exp_type="TAG", max_msg_nums=1)
    before.broker.opened.close()
    disk.end_process()
    broker = PoppedBroker(disk=disk, files=before.broker.saved)
    disk.cool()
    broker.broker.disk_is_stuck = True
    request = broker.pop(queue_id=queue_id, exp="wanted", exp_type="TAG")
    assert len(broker.services.pops.waiting) == 0
    broker.begin_to_store("c", TAGS="wanted")
    broker.broker.now += 0.01
    broker.broker.settle()
    broker.broker.disk_is_stuck = False
    broker.broker.settle()
    assert bodies(messages(broker.answer(request))) == ["c"]
