"""Tests that a crash, a failed write or a stop loses no message that consumers have popped."""

from __future__ import annotations

from gantrymq.broker.core.messages import File
from gantrymq.fakes.brokers.pops import PoppedBroker, bodies
from gantrymq.wire.codes import ResponseCode


def crashed(broker: PoppedBroker) -> PoppedBroker:
    """Another broker on the same disk, with the files that were written."""
    disk = broker.broker.opened.disk
    return PoppedBroker(disk=disk, files=broker.broker.saved)


def test_crash_makes_messages_visible_whose_pop_was_not_saved() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped()
    broker.ack(first)
    again = crashed(broker)
    assert bodies(again.popped()) == ["a", "b"]


def test_messages_in_the_file_stay_in_flight_after_a_crash() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    first, second, _ = broker.popped()
    broker.ack(first)
    broker.broker.pass_time(11)
    assert broker.stored() == 3
    again = crashed(broker)
    assert again.popped() == []
    assert again.ack(second).code == ResponseCode.SUCCESS
    again.broker.pass_time(120)
    assert bodies(again.popped()) == ["c"]
    assert broker.broker.saved[File.POPS]


def test_the_offset_waits_for_the_file() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped()
    broker.ack(first)
    broker.broker.pass_time(4)
    assert broker.stored() == 0
    broker.broker.pass_time(2)
    assert broker.stored() == 2


def test_a_file_that_cannot_be_written_holds_the_offset() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    first, _ = broker.popped()
    broker.ack(first)
    broker.broker.files_are_stuck = True
    broker.broker.pass_time(6)
    (save,) = [each for each in broker.broker.unwritten if each.file is File.POPS]
    broker.broker.write(save, "no space left")
    broker.broker.pass_time(2)
    assert broker.stored() == 0
    (save,) = [each for each in broker.broker.unwritten if each.file is File.POPS]
    broker.broker.write(save)
    broker.broker.pass_time(6)
    for save in list(broker.broker.unwritten):
        broker.broker.write(save)
    assert broker.stored() == 2


def test_a_reset_is_not_undone_by_a_file_that_was_on_its_way() -> None:
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    broker.popped()
    broker.broker.files_are_stuck = True
    broker.broker.pass_time(6)
    broker.state.offsets.commit("G", "T", 0, 1)
    broker.state.resets.assign("G", "T", 0, 1)
    assert bodies(broker.popped(max_msg_nums=1)) == ["b"]
    for save in list(broker.broker.unwritten):
        broker.broker.write(save)
    assert broker.stored() == 1


def test_file_that_is_newer_than_the_offsets_counts_no_message_twice() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    broker.popped()
    broker.broker.pass_time(6)
    files = {File.POPS: broker.broker.saved[File.POPS]}
    again = PoppedBroker(disk=broker.broker.opened.disk, files=files)
    found = again.popped()
    assert bodies(found) == ["a", "b"]
    assert len(again.state.in_flight) == 2
    for message in found:
        again.ack(message)
    again.broker.pass_time(120)
    assert again.popped() == []


def test_stop_saves_the_in_flight_messages() -> None:
    broker = PoppedBroker()
    broker.store("a", "b")
    waiting = broker.pop(queue_id=1)
    first, _ = broker.popped()
    broker.ack(first)
    broker.broker.broker.wind_down(broker.broker.now, broker.broker.wall_ms)
    broker.broker.settle()
    assert broker.stored() == 2
    assert broker.answer(waiting).code == ResponseCode.POLLING_TIMEOUT
