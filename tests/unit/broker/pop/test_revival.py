"""Messages that come again: safely, one by one, and not at all when they are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.broker.core.pop import revival as module_of_revival
from gantrymq.broker.core.tables import in_flight as module
from gantrymq.fakes.brokers.pops import RETRY, PoppedBroker, bodies, messages
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX


@pytest.mark.parametrize("cut_after", [0.0, 0.3, 1, 3, 6, 12, 30])
def test_a_power_cut_loses_no_message_that_was_on_disk_when_it_was_popped(
    cut_after: float,
) -> None:
    disk = FaultyDisk(lose_all)
    broker = PoppedBroker(disk=disk)
    broker.store("a")
    broker.broker.pass_time(12)
    broker.popped(invisible_time=2_000)
    broker.broker.pass_time(cut_after)
    files = dict(broker.broker.saved)
    again = PoppedBroker(disk=disk.crash(), files=files)
    again.broker.pass_time(60)
    assert "a" in bodies(again.popped())


def test_a_message_is_out_until_its_copy_is_on_disk() -> None:
    broker = PoppedBroker(disk=FaultyDisk(lose_all))
    broker.store("a")
    broker.popped(invisible_time=1_000)
    broker.broker.disk_is_stuck = True
    broker.broker.pass_time(30)
    assert len(broker.state.in_flight) == 1
    broker.broker.disk_is_stuck = False
    broker.broker.pass_time(15)
    assert len(broker.state.in_flight) == 0


def test_failed_copy_of_a_message_is_retried_later(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped(invisible_time=1_000)
    with monkeypatch.context() as patched:
        patched.setattr(module_of_revival, "_with_first_pop", no_room)
        broker.broker.pass_time(5)
    assert any("MemoryError" in line.text for line in broker.broker.lines)
    broker.broker.pass_time(60)
    assert bodies(broker.popped()) == ["a"]


def no_room(_properties: bytes, _pop_ms: int) -> bytes:
    raise MemoryError


def test_more_than_a_round_takes_come_again() -> None:
    broker = PoppedBroker()
    names = [f"m{number}" for number in range(300)]
    broker.store(*names)
    while broker.popped(invisible_time=5_000):
        pass
    broker.broker.pass_time(10)
    found = []
    while more := broker.popped():
        found += bodies(more)
    assert sorted(found) == sorted(names)


def test_group_at_its_in_flight_limit_waits_for_an_acknowledgement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "GROUP_IN_FLIGHT_MAX", 2)
    broker = PoppedBroker()
    broker.store("a", "b", "c")
    first, _ = broker.popped()
    waiting = broker.pop()
    assert broker.broker.is_held(waiting)
    broker.ack(first)
    broker.broker.settle()
    assert bodies(messages(broker.answer(waiting))) == ["c"]


def test_in_flight_message_that_the_log_lost_is_logged_and_dropped() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped()
    broker.state.in_flight.take(("G", "T", 0), [55], 56, 1, broker.broker.wall_ms)
    broker.broker.pass_time(20)
    assert any("lost unacknowledged messages" in line.text for line in broker.broker.lines)
    assert len(broker.state.in_flight) == 1


@pytest.mark.parametrize("room_bytes", [0, 10, 40, 140])
def test_a_message_whose_properties_are_full_comes_again_all_the_same(room_bytes: int) -> None:
    broker = PoppedBroker()
    broker.store("full", k="v" * (PROPERTIES_BYTES_MAX - len("k\x01\x02") - room_bytes))
    broker.store("other")
    broker.popped(max_msg_nums=1)
    broker.popped()
    broker.broker.pass_time(65)
    again = broker.popped()
    assert sorted(bodies(again)) == ["full", "other"]
    assert {broker.ack(message).code for message in again} == {ResponseCode.SUCCESS}
    broker.broker.pass_time(65)
    assert broker.popped() == []
    assert broker.stored(RETRY) == 2


def test_message_whose_copy_is_refused_stays_in_flight_until_it_can_be_stored() -> None:
    broker = PoppedBroker()
    broker.store("a", "b" * 4000)
    broker.popped(invisible_time=1_000)
    limits = broker.state.store.settings
    broker.state.store.change(replace(limits, mapped_file_size_commit_log=1000))
    broker.broker.pass_time(20)
    assert bodies(broker.popped()) == ["a"]
    assert len(broker.state.in_flight) == 2
    assert any("stay out" in line.text for line in broker.broker.lines)
    broker.state.store.change(limits)
    broker.broker.pass_time(module_of_revival.REFUSED_PAUSE_MS / 1000)
    assert "b" * 4000 in bodies(broker.popped())


def test_the_retry_topic_is_made_for_good_first() -> None:
    broker = PoppedBroker()
    broker.store("a")
    broker.popped(invisible_time=1_000)
    broker.broker.pass_time(5)
    assert broker.state.topics.find(RETRY) is not None
    assert RETRY not in broker.state.topics.unsaved
    assert broker.stored(RETRY) == 0


def test_a_disk_that_fails_is_asked_again() -> None:
    disk = FaultyDisk(lose_all)
    broker = PoppedBroker(disk=disk)
    broker.store("a")
    broker.popped(invisible_time=1_000)
    revival = broker.services.pops.revival
    due = broker.state.in_flight.take_due(broker.broker.wall_ms + 9_000, 9)
    revival._failed(due, DiskError(DiskFailure.BROKEN, "read", "commitlog"))
    broker.broker.pass_time(10)
    assert bodies(broker.popped()) == ["a"]
