"""Tests the file that reserves space, until the store needs it."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import Completion, DiskFailure
from gantrymq.store.files.reserve import PATH, RESERVE_BYTES, RETRY_SECONDS, Reserve
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import BLOCK_BYTES

# A hundredth of it are ten blocks.
TOTAL_BYTES = 1000 * BLOCK_BYTES
HELD_BYTES = 10 * BLOCK_BYTES


class Kept:
    """A reserve on a disk of a thousand blocks."""

    def __init__(self, disk: FaultyDisk | None = None) -> None:
        if disk is None:
            disk = FaultyDisk()
            disk.memory.total_bytes = TOTAL_BYTES
        self.disk = disk
        self.background = MemoryBackground(disk)
        self.reserve = Reserve(disk, self.background)

    def holds(self) -> bool:
        return self.reserve.is_held

    def fill(self, free_bytes: int) -> None:
        """Fill the disk so that this much is left."""
        excess = self.disk.usage("").free_bytes - free_bytes
        others = self.disk.create("others")
        others.allocate(0, excess)
        others.close()

    def settle(self, now: float) -> None:
        self.reserve.turn(now)
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.reserve.take(completion)


def test_reserve_takes_one_percent_of_a_small_disk() -> None:
    kept = Kept()
    kept.reserve.open()
    assert kept.holds()
    assert kept.disk.usage("").free_bytes == TOTAL_BYTES - HELD_BYTES


def test_reserve_is_bounded_by_what_waits_in_memory() -> None:
    kept = Kept(FaultyDisk())
    kept.disk.memory.total_bytes = 1 << 40
    kept.reserve.open()
    assert kept.disk.open(PATH).size() == RESERVE_BYTES


def test_released_space_can_be_used_by_the_store() -> None:
    kept = Kept()
    kept.reserve.open()
    kept.fill(0)
    assert kept.reserve.give_up()
    assert not kept.holds()
    kept.disk.create("other").write(0, [bytes(HELD_BYTES)])
    assert not kept.reserve.give_up()


def test_reserve_is_allocated_again_when_the_disk_has_space() -> None:
    kept = Kept()
    kept.reserve.open()
    kept.reserve.give_up()
    kept.fill(2 * HELD_BYTES - BLOCK_BYTES)
    kept.settle(0.0)
    assert not kept.holds()
    kept.disk.remove("others")
    kept.settle(RETRY_SECONDS / 2)
    assert not kept.holds()
    kept.settle(RETRY_SECONDS)
    assert kept.holds()
    assert kept.disk.usage("").free_bytes == TOTAL_BYTES - HELD_BYTES


def test_one_allocation_runs_at_a_time() -> None:
    kept = Kept()
    kept.disk.make_folder("gantry")
    kept.reserve.turn(0.0)
    kept.reserve.turn(100.0)
    assert [job.kind for job in kept.background.jobs] == ["allocate"]
    assert not kept.reserve.take(Completion(99))


def test_start_on_a_full_disk_continues_without_a_reserve() -> None:
    kept = Kept()
    kept.fill(0)
    kept.reserve.open()
    assert not kept.holds()
    assert not kept.reserve.give_up()


def test_failed_allocation_is_retried() -> None:
    kept = Kept()
    kept.disk.make_folder("gantry")
    kept.disk.fail("allocate", DiskFailure.NO_SPACE)
    kept.settle(0.0)
    assert not kept.holds()
    kept.settle(RETRY_SECONDS)
    assert kept.holds()
    kept.reserve.give_up()
    kept.disk.fail("open")
    kept.settle(2 * RETRY_SECONDS)
    kept.settle(3 * RETRY_SECONDS)
    assert kept.holds()


def test_failed_removal_of_the_reserve_frees_no_space() -> None:
    kept = Kept()
    kept.reserve.open()
    kept.disk.fail("resize")
    assert not kept.reserve.give_up()


def test_reserve_removed_by_an_administrator_counts_as_released() -> None:
    kept = Kept()
    kept.reserve.open()
    kept.disk.remove(PATH)
    assert kept.reserve.give_up()


@pytest.mark.parametrize("gave_up", [False, True])
def test_next_start_completes_the_reserve_after_a_crash(*, gave_up: bool) -> None:
    kept = Kept()
    kept.reserve.open()
    if gave_up:
        kept.reserve.give_up()
    again = Kept(kept.disk.crash())
    again.reserve.open()
    assert again.holds()
    assert again.disk.usage("").free_bytes == TOTAL_BYTES - HELD_BYTES
