"""Tests truncations of a copy whose topics were deleted and recreated."""

from __future__ import annotations

import contextlib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.fakes.brokers.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.stores.copied_store import (
    DELETED,
    FILE_BYTES,
    QUEUES,
    assert_equal,
    bodies,
    copy,
    counts,
    cut_off,
    ends,
    flush,
    sent,
)
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.consumequeue import queue_snapshot, replaced_queues
from gantrymq.store.consumequeue.replaced_queues import ReplacedQueues
from gantrymq.store.files import flush_positions
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all


@pytest.mark.parametrize(
    ("before", "cut", "left"),
    [
        pytest.param((0, 0, 1), (DELETED, 0), [2, 1, 0, 0], id="one queue began anew"),
        pytest.param((0, 1), (0, DELETED, 0, 0, 1, 3), [1, 1, 0, 0], id="several did"),
        pytest.param((0, 0, DELETED, 0), (DELETED, 0), [1, 0, 0, 0], id="for the second time"),
        pytest.param((0, DELETED, 0, 0), (DELETED, 0), [2, 0, 0, 0], id="the longer one is left"),
        pytest.param((0,) * 25, (DELETED, 0), [25, 0, 0, 0], id="it had several files"),
        pytest.param((0, 0, 1), (0, 1), [2, 1, 0, 0], id="none did"),
    ],
)
def test_queue_whose_new_messages_are_truncated_is_the_old_one(
    before: tuple[int, ...], cut: tuple[int, ...], left: list[int]
) -> None:
    disk = FaultyDisk()
    other = cut_off(disk, before=before, cut=cut)
    slave = Slave(disk.kill())
    assert counts(slave) == left
    assert_equal(slave, other)
    other.store.lead(other.now)
    sent(other, *QUEUES)
    copy(other, slave)
    assert_equal(slave, other)


@pytest.mark.parametrize(
    ("cut", "made"),
    [
        pytest.param((2, 3, 0, 1), [], id="queues that are new, or went on, are not"),
        pytest.param((2, DELETED, 3, 0), ["T/0"], id="the one that began anew is"),
    ],
)
def test_only_queues_that_began_anew_are_rebuilt(cut: tuple[int, ...], made: list[str]) -> None:
    disk = FaultyDisk()
    cut_off(disk, before=(0, 0, 1), cut=cut)
    report = Slave(disk.kill()).store.report
    assert report.was_truncated
    assert report.rebuilt_queues == made


@pytest.mark.parametrize("stop", ["kill", "clean", "clean, and no marks"])
def test_unreadable_note_makes_all_queues_be_checked(stop: str) -> None:
    disk = FaultyDisk()
    other = cut_off(disk, before=(0, 0, 1), cut=(DELETED, 0))
    if stop != "kill":
        disk.remove(log_truncation.PATH)
        disk = disk.kill()
        Slave(disk).close()
    file = disk.open(replaced_queues.PATH)
    file.write(10, [b"X"])
    file.sync()
    if stop != "kill":
        if stop == "clean, and no marks":
            disk.remove(flush_positions.PATH)
        Slave(disk).close()
        log_truncation.request(disk, log_truncation.TruncationRequest(other.store.log.end))
    slave = Slave(disk.kill())
    assert_equal(slave, other)
    other.store.lead(other.now)
    sent(other, *QUEUES)
    copy(other, slave)
    assert_equal(slave, other)


def test_damage_before_a_rebuilt_queue_is_refused() -> None:
    """Otherwise the queue would end there, and its offsets would be used twice."""
    disk = FaultyDisk()
    others = (1,) * 40  # so that the damaged file is not the one that a start looks at
    other = cut_off(disk, before=(0, 0, *others, 0), cut=(DELETED, 0))
    damaged = other.records("T", 0)[1].physical_offset
    file = disk.open(f"commitlog/{0:020d}")
    file.write(damaged + 4, [b"XXXX"])
    file.sync()
    for _ in range(2):
        disk = disk.kill()
        with pytest.raises(StoreRefusedError, match=rf"damaged at {damaged} .*gantry store repair"):
            Slave(disk)


def test_queues_are_rebuilt_on_a_full_disk() -> None:
    disk = FaultyDisk()
    other = cut_off(disk, before=(0, DELETED, 0, 0), cut=(DELETED, 0))
    disk = disk.kill()
    disk.fail("write", DiskFailure.NO_SPACE, path=f"{replaced_queues.PATH}.new", times=3)
    assert_equal(Slave(disk), other)
    with pytest.raises(DiskError):  # the first two were met, before space was made and behind
        ReplacedQueues(disk).note("T", 0, 0)
    assert_equal(Slave(disk.kill()), other)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_queues_are_rebuilt_without_flush_positions(choose: Chooser) -> None:
    is_over = False
    operations = 60  # before, nothing of it has begun
    while not is_over:
        operations += 1
        disk = FaultyDisk(choose)
        other = cut_off(disk, before=(0, 0, 0, *(1,) * 60), cut=(DELETED, 0))
        disk = disk.kill()
        disk.remove(flush_positions.PATH)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            flush(Slave(disk))
            is_over = True
        assert_equal(Slave(disk.crash()), other)


def test_old_damage_does_not_stop_a_truncation_of_new_queues() -> None:
    disk = FaultyDisk()
    other = cut_off(disk, before=(0, 0, 1), cut=(2, 3))
    body = bodies(other, 0)[0]
    path = f"commitlog/{0:020d}"
    file = disk.open(path)
    file.write(file.read(0, FILE_BYTES).index(body), [b"X"])
    file.sync()
    assert ends(Slave(disk.kill())) == ends(other)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_queues_are_rebuilt_after_a_power_cut_before_the_truncation(choose: Chooser) -> None:
    disk = FaultyDisk(choose)
    other = cut_off(disk, before=(0, 0, 1), cut=(DELETED, 0), is_flushed=False)
    assert_equal(Slave(disk.crash()), other)


def test_topics_deleted_by_this_store_do_not_return() -> None:
    disk = FaultyDisk()
    master = Master(disk)
    sent(master, 0, 0)
    end = master.store.log.end
    sent(master, DELETED, 0)
    flush(master)
    log_truncation.request(disk, log_truncation.TruncationRequest(end))
    assert counts(Slave(disk.kill())) == [0, 0, 0, 0]


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_interrupted_rebuild_after_a_truncation_is_repeated(choose: Chooser) -> None:
    is_over = False
    operations = 0
    while not is_over:
        operations += 1
        disk = FaultyDisk(choose)
        other = cut_off(disk, before=(0, 0, 1), cut=(DELETED, 0))
        disk = disk.kill()
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            flush(Slave(disk))
            is_over = True
        assert_equal(Slave(disk.crash()), other)
    assert operations > 10


@settings(max_examples=60)
@given(
    steps=st.lists(st.integers(DELETED, QUEUES[-1]), max_size=40),
    kept=st.integers(0, 40),
    flushes=st.sets(st.integers(0, 40), max_size=4),
    is_power=st.booleans(),
)
def test_truncated_store_equals_one_that_never_had_the_records(
    steps: list[int], kept: int, flushes: set[int], is_power: bool
) -> None:
    disk = FaultyDisk()
    master, slave, other = Master(), Slave(disk), Slave()
    for at, step in enumerate(steps):
        sent(master, step)
        if at < kept:
            copy(master, other)
        if at % 3 == 0:
            copy(master, slave)
        if at in flushes:
            flush(slave)
    copy(master, slave)
    log_truncation.request(disk, log_truncation.TruncationRequest(other.store.log.end))
    slave = Slave(disk.crash() if is_power else disk.kill())
    copy(other, slave)
    assert_equal(slave, other)
    other.store.lead(other.now)
    sent(other, *QUEUES)
    copy(other, slave)
    assert_equal(slave, other)


def test_new_queue_does_not_hide_one_lost_by_a_power_cut() -> None:
    """The flush positions count the number of queues on disk: it includes the new queue instead of
    the lost one."""
    hits = 0
    for jobs in range(12):
        disk = FaultyDisk(lose_all)
        master, slave, other = Master(), Slave(disk), Slave()
        sent(master, 0, 0)
        copy(master, slave)
        flush(slave)
        sent(master, 1)
        copy(master, slave)
        copy(master, other)
        slave.turn(0.6)
        slave.settle()
        slave.turn(61.0)
        for _ in range(jobs):
            slave.background.complete_some(lambda count: count - 1)
        sent(master, DELETED, 0)
        copy(master, slave)
        slave = Slave(disk.crash())
        if slave.store.log.end == other.store.log.end:
            hits += slave.store.report.rebuilt_queues == ["T/0"]
            assert_equal(slave, other)
    assert hits > 0


@settings(max_examples=60)
@given(
    steps=st.lists(st.integers(DELETED, QUEUES[-1]), max_size=40),
    turns=st.sets(st.integers(0, 40)),
    flushes=st.sets(st.integers(0, 40), max_size=3),
    seed=st.integers(0, 1 << 32),
)
def test_after_a_power_cut_queues_equal_the_remaining_log(
    steps: list[int], turns: set[int], flushes: set[int], seed: int
) -> None:
    random = Random(seed)
    disk = FaultyDisk(random.randrange)
    master, slave = Master(), Slave(disk)
    for at, step in enumerate(steps):
        sent(master, step)
        copy(master, slave)
        if at in turns:
            slave.turn(random.choice([0.1, 0.6, 11.0]))
            slave.background.complete_some(disk.choose)
        if at in flushes:
            flush(slave)
    slave = Slave(disk.crash())
    other = Slave()
    left = bytes_of_log(master, 0, slave.store.log.end)
    assert other.store.append_copy(0, left, other.now) is None
    other.turn(0.1)
    assert_equal(slave, other)


@pytest.mark.parametrize("cut", [(0,) * 5, (DELETED, *(0,) * 6)], ids=["went on", "began anew"])
def test_no_queue_has_truncated_units_behind_its_end(
    cut: tuple[int, ...],
) -> None:
    disk = FaultyDisk()
    other = cut_off(disk, before=(0, 0), cut=cut)
    slave = Slave(disk.kill())
    other.store.lead(other.now)
    sent(other, *(1,) * 14, 0)
    copy(other, slave)
    flush(slave)
    slave.close()
    slave.disk.remove(queue_snapshot.PATH)  # a start looks into the queues' files themselves
    assert_equal(Slave(slave.disk), other)
