"""Tests the flush of the index: its order of syncs, full disks, power cuts and kills."""

from __future__ import annotations

import contextlib
import random
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import BEHIND_BYTES, IndexFlush
from gantrymq.store.read.index_lookup import KeyQuery, find_offsets
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.unsynced import lose_all

SIZES = IndexSizes(slots=7, entries=12)


class Fixture:
    """An index, its flush, and a device that ends jobs when `finish` says so."""

    def __init__(
        self,
        disk: FaultyDisk,
        *,
        flushed_ms: int = 0,
        is_clean: bool = True,
        sizes: IndexSizes = SIZES,
    ) -> None:
        self.disk = disk
        self.background = MemoryBackground(disk)
        names = map(str, count(20261121012644065))
        self.index = Index(disk, sizes, names.__next__)
        self.index.load(is_clean=is_clean, flushed_ms=flushed_ms, trusts_headers=True)
        self.flush = IndexFlush(self.index, self.background, 0.0, LogPosition())
        self.number = self.index.end_offset // 100 + 1
        self.now = 0.0

    def put(self, records: int) -> None:
        for _ in range(records):
            self.index.put(b"T", b"", b"k", self.number * 100, self.number * 1000)
            self.number += 1

    @property
    def dispatched(self) -> LogPosition:
        return LogPosition(self.number * 100, 0, (self.number - 1) * 1000)

    @property
    def flushed_ms(self) -> int:
        return self.flush.flushed.store_timestamp_ms

    def turn(self, now: float, log_flushed: int = 1 << 60) -> None:
        self.now = now
        self.flush.turn(now, self.dispatched, log_flushed)

    def finish(self) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.flush.take(completion)
        self.turn(self.now)

    def offsets(self) -> list[int]:
        key_hash = self.index.key_hash(b"T", b"k")
        return find_offsets(self.index, KeyQuery(key_hash, 1 << 20, 0, 1 << 60))


def records(end: int) -> list[int]:
    return [number * 100 for number in range(1, end + 1)]


def test_a_flush_waits_for_its_time_and_for_three_syncs() -> None:
    fixture = Fixture(FaultyDisk(lose_all))
    fixture.put(5)
    fixture.turn(59.0)
    assert not fixture.flush.is_under_way
    assert fixture.flush.deadline() == 60.0
    fixture.turn(60.0)
    for _ in range(3):
        assert fixture.flushed_ms == 0
        fixture.finish()
    assert not fixture.flush.is_under_way
    assert fixture.flushed_ms == 5000
    assert Fixture(fixture.disk.crash(), is_clean=False).offsets() == records(5)


def test_entries_added_during_a_flush_belong_to_the_next() -> None:
    fixture = Fixture(FaultyDisk(lose_all))
    fixture.put(5)
    fixture.turn(60.0)
    fixture.put(20)
    fixture.finish()
    fixture.put(5)
    fixture.finish()
    fixture.finish()
    assert fixture.flushed_ms == 5000
    assert fixture.offsets() == records(30)
    fixture.turn(120.0)
    for _ in range(3):
        fixture.finish()
    assert fixture.flushed_ms == 30_000
    assert Fixture(fixture.disk.crash(), is_clean=False).offsets() == records(30)


def test_log_far_ahead_starts_a_flush_at_once() -> None:
    fixture = Fixture(FaultyDisk())
    fixture.put(1)
    fixture.flush.turn(1.0, LogPosition(BEHIND_BYTES), BEHIND_BYTES)
    assert not fixture.flush.is_under_way
    fixture.flush.turn(1.0, LogPosition(BEHIND_BYTES + 1), BEHIND_BYTES)
    assert fixture.flush.is_under_way


def test_a_header_counts_only_records_that_the_log_has_on_disk() -> None:
    fixture = Fixture(FaultyDisk(lose_all))
    fixture.put(5)
    fixture.turn(60.0)
    fixture.finish()
    fixture.background.complete_all()
    for completion in fixture.background.take_completions():
        fixture.flush.take(completion)
    fixture.turn(61.0, log_flushed=500)
    assert not fixture.background.jobs
    assert fixture.flushed_ms == 0
    fixture.turn(62.0, log_flushed=501)
    fixture.finish()
    assert fixture.flushed_ms == 5000


def test_flush_without_new_entries_writes_nothing() -> None:
    fixture = Fixture(FaultyDisk())
    fixture.turn(60.0)
    assert not fixture.flush.is_under_way
    fixture.put(1)
    fixture.flush.flush(fixture.dispatched)
    operations = fixture.disk.operations
    fixture.turn(120.0)
    fixture.flush.flush(fixture.dispatched)
    assert fixture.disk.operations == operations


def test_full_disk_is_raised_and_the_flush_is_repeated() -> None:
    disk = FaultyDisk()
    fixture = Fixture(disk)
    fixture.put(5)
    for operation in ("create", "write"):
        disk.fail(operation, DiskFailure.NO_SPACE)
        fixture.turn(fixture.flush.deadline())
        assert fixture.index.failure is not None
        assert not fixture.flush.is_under_way
    fixture.turn(fixture.flush.deadline())
    disk.fail("write", DiskFailure.NO_SPACE)  # of the slots
    fixture.finish()
    assert not fixture.flush.is_under_way
    fixture.flush.flush(fixture.dispatched)
    assert fixture.index.failure is None
    assert Fixture(disk).offsets() == records(5)


def test_after_a_failed_sync_no_key_is_accepted() -> None:
    disk = FaultyDisk()
    fixture = Fixture(disk)
    fixture.put(5)
    fixture.turn(60.0)
    disk.fail("sync")
    fixture.finish()
    assert fixture.index.is_broken
    assert fixture.index.failure is not None
    fixture.put(1)
    assert fixture.index.missed == 1
    fixture.turn(120.0)
    fixture.flush.flush(fixture.dispatched)
    assert fixture.flushed_ms == 0


def test_failed_sync_at_the_stop_is_raised() -> None:
    disk = FaultyDisk()
    fixture = Fixture(disk)
    fixture.put(5)
    disk.fail("sync")
    fixture.flush.flush(fixture.dispatched)
    assert fixture.index.is_broken
    assert fixture.flushed_ms == 0


def test_unknown_tickets_are_rejected() -> None:
    fixture = Fixture(FaultyDisk())
    fixture.put(1)
    fixture.flush.flush(fixture.dispatched)
    background = fixture.background
    background.complete(background.sync(fixture.index.file(fixture.index.files[0].path)))
    (completion,) = background.take_completions()
    assert not fixture.flush.take(completion)


def write_until_cut(fixture: Fixture, steps: list[int], choices: random.Random) -> None:
    now = 0.0
    for step in steps:
        fixture.put(step)
        now += choices.choice([1.0, 60.0])
        fixture.turn(now)
        fixture.background.complete_some(choices.randrange)
        for completion in fixture.background.take_completions():
            fixture.flush.take(completion)
        fixture.turn(now)


LIVES = st.lists(
    st.tuples(st.lists(st.integers(1, 9), max_size=15), st.integers(0, 60)), min_size=1, max_size=4
)


@given(st.integers(0, 1 << 32), LIVES)
def test_power_cuts_lose_no_key_below_the_flush_position(
    seed: int, lives: list[tuple[list[int], int]]
) -> None:
    choices = random.Random(seed)
    disk = FaultyDisk(lambda bound: min(bound - 1, choices.randrange(2)))
    flushed = 0
    fixture = Fixture(disk)
    for steps, crash_after in lives:
        disk.crash_at = disk.operations + crash_after
        with contextlib.suppress(PowerCut):
            write_until_cut(fixture, steps, choices)
        flushed = max(flushed, fixture.flushed_ms // 1000)
        disk = disk.crash()
        fixture = Fixture(disk, is_clean=False)
        found = fixture.offsets()
        assert found[:flushed] == records(flushed)
        assert found == records(len(found))
        assert fixture.index.end_offset == len(found) * 100


@given(st.integers(0, 1 << 32), LIVES)
def test_after_any_power_cut_dispatching_from_the_end_completes_the_index(
    seed: int, lives: list[tuple[list[int], int]]
) -> None:
    choices = random.Random(seed)
    disk = FaultyDisk(choices.randrange)
    fixture = Fixture(disk)
    dispatched = 0
    for steps, crash_after in lives:
        disk.crash_at = disk.operations + crash_after
        with contextlib.suppress(PowerCut):
            write_until_cut(fixture, steps, choices)
        dispatched = max(dispatched, fixture.number - 1)
        disk = disk.crash()
        fixture = Fixture(disk, is_clean=False)
        assert set(fixture.offsets()) <= set(records(dispatched))
        fixture.put(dispatched - fixture.number + 1)
        assert fixture.index.end_offset == dispatched * 100


def kill_in_step(fixture: Fixture, step: int, sizes: IndexSizes) -> Fixture:
    """Flush in a process that is killed after this many of its three steps."""
    fixture.turn(fixture.now + 60.0)
    for _ in range(step - 1):
        fixture.finish()
    return Fixture(fixture.disk.kill(), is_clean=False, sizes=sizes)


def test_two_kills_during_a_flush_do_not_mix_chains() -> None:
    sizes = IndexSizes(slots=3, entries=60)

    def put_keys(fixture: Fixture, first_key: int) -> None:
        for number in range(20):
            fixture.index.put(b"T", b"", b"%d" % (first_key + number), fixture.number * 100, 1000)
            fixture.number += 1

    fixture = Fixture(FaultyDisk(), sizes=sizes)
    put_keys(fixture, first_key=0)
    fixture.turn(60.0)
    for _ in range(3):
        fixture.finish()
    put_keys(fixture, first_key=20)
    again = kill_in_step(fixture, 2, sizes)  # slots name entries that the header does not count
    put_keys(again, first_key=21)
    third = kill_in_step(again, 1, sizes)  # entries are written over, slots are not
    for key in range(20):
        query = KeyQuery(third.index.key_hash(b"T", b"%d" % key), 9, 0, 1 << 60)
        assert find_offsets(third.index, query) == [(key + 1) * 100]
