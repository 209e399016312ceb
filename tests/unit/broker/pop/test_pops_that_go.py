"""Topics and groups are deleted while messages of theirs are out, and may be made anew."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.fakes.brokers.pops import RETRY, PoppedBroker, bodies, messages
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.group import DeleteSubscriptionGroupRequest
from gantrymq.wire.headers.topic import DeleteTopicRequest


def delete_topic(broker: PoppedBroker) -> None:
    answer = broker.broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="T"))
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    broker.broker.settle()


def make_anew(broker: PoppedBroker) -> None:
    delete_topic(broker)
    add_topic(broker.broker)
    broker.broker.settle()


def delete_group(broker: PoppedBroker, *, with_offsets: bool = True) -> None:
    header = DeleteSubscriptionGroupRequest(group_name="G", clean_offset=with_offsets)
    answer = broker.broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header)
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    broker.broker.settle()


def test_a_topic_made_anew_is_popped_from_its_first_message_on() -> None:
    broker = PoppedBroker()
    broker.store("old", "older", "oldest")
    old = broker.popped()
    broker.broker.pass_time(6)
    make_anew(broker)
    broker.store("a", "b", "c", "d")
    assert {broker.ack(message).code for message in old} == {ResponseCode.SUCCESS}
    assert bodies(broker.popped()) == ["a", "b", "c", "d"]
    broker.broker.pass_time(65)
    assert sorted(bodies(broker.popped())) == ["a", "b", "c", "d"]


def test_a_topic_that_is_gone_gets_no_offset() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    broker.popped()
    delete_topic(broker)
    assert len(broker.state.in_flight) == 0
    broker.broker.pass_time(130)
    assert broker.stored() is None
    assert not any("dropped" in line.text for line in broker.broker.lines)


def test_a_file_that_was_on_its_way_moves_no_offset_of_a_topic_made_anew() -> None:
    broker = PoppedBroker()
    broker.store("old", "older")
    first, second = broker.popped()
    broker.broker.files_are_stuck = True
    broker.broker.pass_time(6)
    broker.ack(first)
    broker.ack(second)
    answer = broker.broker.send(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="T"))
    add_topic(broker.broker)
    broker.broker.files_are_stuck = False
    for save in list(broker.broker.unwritten):
        broker.broker.write(save)
    broker.broker.settle()
    assert broker.broker.answer(answer) is not None
    assert broker.stored() is None


def test_deleted_topic_has_no_in_flight_messages_on_disk_when_the_deletion_is_answered() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    broker.popped()
    broker.broker.pass_time(6)
    assert b"T@G" in broker.broker.saved[File.POPS]
    delete_topic(broker)
    assert b"T@G" not in broker.broker.saved[File.POPS]


def test_pop_that_reads_during_a_topic_deletion_takes_nothing_of_the_new_topic() -> None:
    disk = MemoryDisk()
    before = PoppedBroker(disk=disk)
    before.store("old", "older")
    before.broker.pass_time(6)
    before.broker.opened.close()
    disk.end_process()
    broker = PoppedBroker(disk=disk, files=before.broker.saved)
    disk.cool()
    broker.broker.disk_is_stuck = True
    broker.pop()
    delete = DeleteTopicRequest(topic="T")
    broker.broker.send(RequestCode.DELETE_TOPIC_IN_BROKER, delete)
    broker.broker.disk_is_stuck = False
    broker.broker.settle()
    assert len(broker.state.in_flight) == 0


def test_message_due_for_redelivery_is_dropped_with_its_topic() -> None:
    broker = PoppedBroker()
    broker.store("old")
    broker.popped()
    (due,) = broker.state.in_flight.take_due(broker.broker.wall_ms + 99_000, 9)
    make_anew(broker)
    broker.services.pops.revival._found([due], [None])
    broker.state.in_flight.keep_out(due, due.pop_ms, broker.broker.wall_ms)
    broker.store("new")
    broker.broker.pass_time(5)
    assert bodies(broker.popped()) == ["new"]
    assert broker.state.topics.find(RETRY) is None


# ---------------------------------------------------------------------- in order


@pytest.mark.parametrize("is_acknowledged", [False, True])
def test_a_queue_in_order_that_is_made_anew_waits_for_no_old_batch(is_acknowledged: bool) -> None:
    broker = PoppedBroker()
    broker.store("old", "older", "oldest")
    broker.broker.pass_time(1)
    old = broker.popped(order="true", invisible_time=86_400_000)
    broker.broker.pass_time(6)
    make_anew(broker)
    assert broker.popped(order="true") == []
    broker.store("a", "b", "c", "d")
    if is_acknowledged:
        assert {broker.ack(message).code for message in old} == {ResponseCode.SUCCESS}
    assert bodies(broker.popped(order="true")) == ["a", "b", "c", "d"]


def test_acknowledgement_after_a_reset_skips_no_message() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    broker.broker.pass_time(1)
    _, second, _ = broker.popped(order="true")
    broker.services.pops.move(("G", "T", 0), 1)
    assert broker.ack(second).code == ResponseCode.SUCCESS
    assert bodies(broker.popped(order="true")) == ["b", "c"]


# ---------------------------------------------------------------------- groups


def test_a_group_that_is_deleted_with_its_offsets_begins_anew() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    broker.popped()
    broker.broker.pass_time(6)
    delete_group(broker)
    broker.broker.pass_time(130)
    assert broker.stored() is None
    assert bodies(broker.popped()) == ["a", "b", "c"]


def test_a_group_that_is_made_anew_at_once_begins_anew_too() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    waiting = broker.pop(queue_id=1)
    broker.popped(order="true")
    delete_group(broker)
    assert bodies(broker.popped(order="true")) == ["a", "b", "c"]
    broker.store("d", queue_id=1)
    assert bodies(messages(broker.answer(waiting))) == ["d"]


def test_group_deleted_without_its_offsets_keeps_its_in_flight_messages() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped()
    delete_group(broker, with_offsets=False)
    broker.ack(first)
    assert broker.popped() == []
    broker.broker.pass_time(65)
    assert bodies(broker.popped()) == ["b"]


def test_a_group_that_is_gone_gets_no_offset() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped()
    delete_group(broker, with_offsets=False)
    broker.broker.pass_time(130)
    assert broker.stored() == 0
