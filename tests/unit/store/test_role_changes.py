"""Tests a store that changes from copy to master and back, and what consumers see."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.brokers.replicated import Slave, bytes_of_log
from gantrymq.fakes.stores.kernel import frame, kernel_of
from gantrymq.fakes.stores.store import HOST, SETTINGS, SYNC, OpenedStore, message
from gantrymq.store.dispatch.dispatch_notifier import UNTOLD_MAX
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import message_at, messages_by_key, queue_bounds
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import of_record
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire import frames

SIZE: Final = message(1).size
NOTHING: Final = float("inf")
MEMORY: Final = 1 << 30


def log_of(*numbers: int) -> bytes:
    """A master's log with these messages."""
    master = OpenedStore(FaultyDisk())
    for number in numbers:
        master.put(number)
        master.turn()
    return bytes_of_log(master, 0, None)


def begun_anew(number: int, *topics: str) -> bytes:
    """The bytes of a master's log behind its first message: its topics were deleted and recreated
    with one message each."""
    master = OpenedStore(FaultyDisk())
    for topic in topics or ("T",):
        master.put(1, topic=topic)
        master.turn()
    for topic in topics or ("T",):
        master.store.delete_topic(topic)
    master.turn()
    for topic in topics or ("T",):
        master.put(number, topic=topic)
        master.turn()
    return bytes_of_log(master, SIZE, None)


def promoted(settings: StoreSettings = SETTINGS) -> Slave:
    """A store that had one message as a slave and is master now."""
    slave = Slave(settings=settings)
    assert slave.store.append_copy(0, log_of(1), slave.now) is None
    slave.turn(1.0)
    slave.settle()
    slave.store.lead(slave.now)
    return slave


def feed(store: OpenedStore, number: int) -> int:
    kernel = kernel_of(store.store.queues, topics=[b"T"])
    data = frame({"b": "T", "e": "0"}, opaque=number)
    fed = store.store.feed(kernel, data, 0, HOST, 1_700_000_000_000)
    assert fed.count == 1
    return fed.number


def maximum(store: OpenedStore) -> int:
    bounds = run(queue_bounds(store.store, "T", 0))
    assert bounds is not None
    return bounds.maximum


def pulled(store: OpenedStore, offset: int) -> tuple[PullStatus, int, int]:
    found = run(pull(store.store, PullQuery("T", 0, offset, 32), MEMORY))
    return found.status, found.count, found.maximum


# ---------------------------------------------------------------------- lead


def test_new_master_appends_messages_to_its_log() -> None:
    slave = promoted()
    (number,) = slave.put(2)
    (answer,) = slave.turn().answers
    assert (answer.number, answer.status, answer.queue_offset) == (number, PutStatus.PUT_OK, 1)
    assert answer.positions == [SIZE]
    assert slave.bodies() == [b"body 1", b"body 2"]


def test_incomplete_record_of_the_old_master_is_dropped() -> None:
    slave, log = Slave(), log_of(1, 2)
    slave.store.append_copy(0, log[: SIZE + 50], slave.now)
    slave.turn()
    slave.store.lead(slave.now)
    slave.put(3)
    slave.turn()
    assert slave.bodies() == [b"body 1", b"body 3"]
    slave.store.follow(1)
    assert slave.store.append_copy(2 * SIZE, log_of(1, 3, 4)[2 * SIZE :], slave.now) is None
    assert slave.bodies() == [b"body 1", b"body 3", b"body 4"]


def test_unfinished_blank_of_the_old_master_is_overwritten() -> None:
    log = log_of(*range(100, 150))
    slave = Slave()
    size = message(100).size
    blank_at = 4096 // size * size
    slave.store.append_copy(0, log[: blank_at + 20], slave.now)
    slave.turn()
    slave.store.lead(slave.now)
    assert slave.store.log.end == blank_at
    slave.put(1000)
    slave.turn()
    slave.close()
    again = OpenedStore(slave.disk)
    assert again.bodies()[-1] == b"body 1000"


def test_undispatched_records_come_before_the_first_put() -> None:
    disk = FaultyDisk()
    slave = Slave(disk, replace(SETTINGS, flush_consume_queue_least_pages=0))
    slave.store.append_copy(0, log_of(1), slave.now)
    for _ in range(3):
        slave.turn(100.0)
        slave.settle()
    disk.fail("remove", path="consumequeue/T/0", times=3)
    slave.store.append_copy(SIZE, begun_anew(2, "T", "U"), slave.now)
    slave.store.lead(slave.now)
    assert slave.store.trouble(slave.now) is not None
    assert isinstance(slave.store.put(message(3)), Refused)
    slave.turn(1.0)
    slave.turn(1.0)
    assert slave.store.trouble(slave.now) is None
    slave.put(3)
    (answer,) = slave.turn().answers
    assert (answer.status, answer.queue_offset) == (PutStatus.PUT_OK, 1)
    assert slave.bodies() == [b"body 2", b"body 3"]


def test_gap_on_a_master_is_a_defect() -> None:
    slave = promoted()
    stray = message(9)
    stray.queue_offset, stray.physical_offset = 7, SIZE
    entry = of_record(stray, PropertyScan(), DelayLevels("1s"))
    with pytest.raises(AssertionError, match="units are missing"):
        slave.store._notifier.dispatch([entry])


# ---------------------------------------------------------------------- follow


def test_unwritten_puts_are_dropped_when_the_store_follows() -> None:
    slave = promoted()
    (number,) = slave.put(2)
    slave.store.follow(1)
    assert slave.store.deadline() <= slave.now
    (answer,) = slave.turn().answers
    assert (answer.number, answer.status) == (number, PutStatus.SERVICE_NOT_AVAILABLE)
    assert slave.bodies() == [b"body 1"]
    assert slave.store.log.end == SIZE


def test_unwritten_fed_sends_are_dropped_when_the_store_follows() -> None:
    slave = promoted()
    number = feed(slave, 1)
    slave.store.follow(1)
    (answer,) = slave.turn().answers
    assert (answer.number, answer.status) == (number, PutStatus.SERVICE_NOT_AVAILABLE)
    (reply,) = frames.FrameReader().decode(answer.replies)
    assert reply.code == PutStatus.SERVICE_NOT_AVAILABLE.response_code
    assert slave.store.log.end == SIZE
    slave.store.lead(slave.now)
    slave.put(2)
    (answer,) = slave.turn().answers
    assert answer.queue_offset == 1


def test_a_store_that_follows_refuses_messages() -> None:
    slave = promoted()
    slave.store.follow(1)
    assert isinstance(slave.store.put(message(2)), Refused)
    kernel_took = slave.store.waiting_bytes
    assert kernel_took == 0


def test_send_that_waits_for_the_disk_is_not_answered_with_success() -> None:
    slave = promoted(SYNC)
    slave.put(2)
    assert not slave.turn().answers
    slave.store.follow(1)
    (answer,) = slave.turn().answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT
    assert not slave.settle().answers


def test_send_that_waits_for_members_is_not_answered_with_success() -> None:
    slave = promoted()
    slave.store.waiters.for_members = True
    slave.put(2)
    assert not slave.turn().answers
    slave.store.follow(1)
    slave.store.waiters.replicated(2 * SIZE)
    (answer,) = slave.turn().answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT
    assert not slave.store.waiters.for_members


def test_send_due_in_the_next_turn_is_not_answered_with_success() -> None:
    slave = promoted()
    slave.store.waiters.for_members = True
    slave.put(2)
    assert not slave.turn().answers
    slave.store.waiters.replicated(2 * SIZE)
    slave.store.follow(1)
    (answer,) = slave.turn().answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT
    assert "not the master any more" in answer.remark


def test_fed_send_due_in_the_next_turn_is_not_answered_with_success() -> None:
    slave = promoted()
    slave.store.waiters.for_members = True
    feed(slave, 1)
    assert not slave.turn().answers
    slave.store.waiters.replicated(1 << 40)
    slave.store.follow(1)
    (answer,) = slave.turn().answers
    (reply,) = frames.FrameReader().decode(answer.replies)
    assert reply.code == PutStatus.FLUSH_SLAVE_TIMEOUT.response_code
    assert "not the master any more" in (reply.remark or "")


def test_replicated_position_is_reset_in_a_new_epoch() -> None:
    slave = promoted()
    slave.store.waiters.replicated(1 << 40)
    slave.store.follow(1)
    slave.store.lead(slave.now)
    slave.store.waiters.for_members = True
    slave.put(2)
    assert not slave.turn().answers


def test_old_master_continues_as_a_copy_of_its_log() -> None:
    slave = promoted()
    slave.put(2)
    slave.turn()
    slave.store.follow(1)
    end = slave.store.begin_copy()
    assert end == 2 * SIZE
    assert slave.store.append_copy(end, log_of(1, 2, 3)[end:], slave.now) is None
    slave.turn()
    assert slave.bodies() == [b"body 1", b"body 2", b"body 3"]


def test_copy_stops_at_gaps_again() -> None:
    slave = promoted()
    slave.store.follow(1)
    assert slave.store.append_copy(SIZE, begun_anew(2), slave.now) is None
    slave.turn()
    assert slave.bodies() == [b"body 2"]


# ---------------------------------------------------------------------- the safe mark


def test_records_above_the_safe_mark_are_hidden() -> None:
    slave = promoted()
    slave.store.safe = SIZE
    slave.put(2)
    assert not slave.turn().arrived
    assert pulled(slave, 1) == (PullStatus.OFFSET_OVERFLOW_ONE, 0, 1)
    assert maximum(slave) == 1
    assert run(message_at(slave.store, SIZE)) is None
    by_key = run(messages_by_key(slave.store, "T", "k2", 9, 0, 1 << 60))
    assert not by_key.messages


def test_raised_safe_mark_reports_the_arrived_messages() -> None:
    slave = promoted()
    slave.store.safe = SIZE
    slave.put(2)
    slave.turn()
    assert slave.store.deadline() > slave.now
    slave.store.safe = 2 * SIZE
    assert slave.store.deadline() <= slave.now
    assert list(slave.turn().arrived) == [("T", 0)]
    assert slave.store.deadline() > slave.now
    assert pulled(slave, 1) == (PullStatus.FOUND, 1, 2)
    assert maximum(slave) == 2


def test_copy_is_readable_below_the_safe_mark_only() -> None:
    slave = Slave()
    slave.store.safe = 0
    slave.store.append_copy(0, log_of(1), slave.now)
    assert not slave.turn().arrived
    assert maximum(slave) == 0
    slave.store.safe = None
    assert list(slave.turn().arrived) == [("T", 0)]
    assert maximum(slave) == 1


def test_safe_mark_shows_no_unsynced_records() -> None:
    slave = promoted(SYNC)
    slave.put(2)
    slave.store.safe = 2 * SIZE
    slave.turn()
    assert maximum(slave) == 1
    slave.settle()
    assert maximum(slave) == 2


def test_unreported_arrivals_take_bounded_memory() -> None:
    slave = promoted()
    slave.store.safe = 0
    for number in range(UNTOLD_MAX + 100):
        slave.put(number)
        slave.turn()
    assert len(slave.store._notifier._untold) <= UNTOLD_MAX
    slave.store.safe = None
    assert list(slave.turn().arrived) == [("T", 0)]


# ---------------------------------------------------------------------- trouble


def test_a_sync_that_takes_long_is_trouble() -> None:
    slave = promoted(SYNC)
    slave.put(2)
    slave.turn()
    assert slave.store.stall(slave.now + 1.9) is None
    assert "sync" in (slave.store.stall(slave.now + 2.0) or "")
    assert slave.store.trouble(slave.now + 2.0) == slave.store.stall(slave.now + 2.0)
    slave.settle()
    assert slave.store.trouble(slave.now + 60.0) is None


def test_disk_that_refuses_writes_is_trouble_until_one_succeeds() -> None:
    disk = FaultyDisk()
    slave = Slave(disk)
    slave.store.lead(slave.now)
    slave.put(1)
    slave.turn()
    disk.fail("write", DiskFailure.BROKEN)
    slave.put(2)
    slave.turn()
    assert slave.store.trouble(slave.now) is not None
    slave.put(3)
    slave.turn()
    assert slave.store.trouble(slave.now) is None


def test_copy_whose_disk_refuses_writes_is_in_trouble_too() -> None:
    disk = FaultyDisk()
    slave = Slave(disk)
    slave.store.append_copy(0, log_of(1), slave.now)
    disk.fail("write", DiskFailure.BROKEN)
    assert slave.store.append_copy(SIZE, log_of(1, 2)[SIZE:], slave.now) is not None
    assert slave.store.trouble(slave.now) is not None
    assert slave.store.begin_copy() == SIZE
    assert slave.store.append_copy(SIZE, log_of(1, 2)[SIZE:], slave.now) is None
    assert slave.store.trouble(slave.now) is None
