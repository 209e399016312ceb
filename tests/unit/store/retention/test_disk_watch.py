"""Tests that messages are refused only while the disk is nearly full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskError, DiskFailure, Usage
from gantrymq.store.files.reserve import Reserve
from gantrymq.store.record.put_status import DISK_FULL, PutStatus
from gantrymq.store.retention.disk_watch import LOOK_SECONDS, DiskWatch
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

SETTINGS = StoreSettings(store_path_root_dir="/data/store/")


class Watched:
    """Log, queues and index on partitions of 1000 bytes each, of which `used` bytes are used."""

    def __init__(self, log: int = 0, queues: int = 0, index: int = 0) -> None:
        self.disk = MemoryDisk(total_bytes=1000 * 4096)
        self.background = MemoryBackground(self.disk)
        self.reserve = Reserve(self.disk, self.background)
        self.reserve.open()
        self.used = {"commitlog": log, "consumequeue": queues, "index": index}
        self.looks = 0
        self.watch = DiskWatch(self.usage, self.reserve, SETTINGS)

    def usage(self, folder: str) -> Usage:
        self.looks += 1
        if folder not in self.used:
            raise DiskError(DiskFailure.BROKEN, "usage", folder)
        return Usage(1000, 1000 - self.used[folder])

    def text(self, now: float) -> str:
        """The reason for which messages are refused; "" if they are accepted."""
        self.watch.turn(now)
        refused = self.watch.refusal()
        if refused is None:
            return ""
        assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
        return refused.text


def test_above_the_warning_level_messages_are_refused_with_the_figures() -> None:
    text = Watched(log=901, queues=400, index=250).text(0.0)
    assert text.startswith(f"{DISK_FULL}[CL: 0.90 CQ: 0.40 INDEX: 0.25] ")
    assert "901 of 1000 bytes are used on the partition of /data/store/commitlog" in text
    assert "diskSpaceWarningLevelRatio=90 %" in text


def test_messages_are_accepted_at_the_warning_level() -> None:
    assert not Watched(log=900, queues=900).text(0.0)


def test_changed_level_applies_to_the_next_turn() -> None:
    watched = Watched(log=800)
    assert not watched.text(0.0)
    watched.watch.change(replace(SETTINGS, disk_space_warning_level_ratio=79))
    assert "diskSpaceWarningLevelRatio=79 %" in watched.text(0.1)
    watched.watch.change(SETTINGS)
    assert not watched.text(0.2)


def test_a_full_partition_of_the_queues_counts_and_one_of_the_index_does_not() -> None:
    assert "/data/store/consumequeue" in Watched(queues=950).text(0.0)
    assert not Watched(index=1000).text(0.0)


def test_refusals_end_at_the_first_check_that_finds_space() -> None:
    watched = Watched(log=999)
    assert watched.text(0.0)
    watched.used["commitlog"] = 900
    assert watched.text(LOOK_SECONDS / 2)
    assert not watched.text(LOOK_SECONDS)


def test_disk_is_not_asked_between_checks() -> None:
    watched = Watched()
    watched.watch.turn(0.0)
    looks = watched.looks
    assert watched.watch.deadline() == LOOK_SECONDS
    for _ in range(5):
        assert not watched.text(LOOK_SECONDS / 2)
    assert watched.looks == looks


def test_failed_write_of_the_log_makes_the_next_turn_check() -> None:
    watched = Watched()
    watched.watch.turn(0.0)
    watched.used["commitlog"] = 1000
    watched.watch.look_soon()
    assert watched.watch.deadline() < 0.0
    assert watched.text(0.0)


def test_failed_check_changes_nothing() -> None:
    watched = Watched(log=950)
    del watched.used["index"]
    assert "[CL: 0.95 CQ: 0.00] " in watched.text(0.0)
    watched.used.clear()
    assert watched.text(LOOK_SECONDS)
    unknown = Watched()
    unknown.used.clear()
    assert not unknown.text(0.0)
    assert unknown.watch.used_percent == 0


def test_the_fuller_partition_decides_about_deletion() -> None:
    watched = Watched(log=300, queues=760, index=990)
    watched.watch.turn(0.0)
    assert watched.watch.used_percent == pytest.approx(76.0)


def test_no_message_is_accepted_while_the_reserve_is_released() -> None:
    watched = Watched()
    assert not watched.text(0.0)
    watched.disk.total_bytes = 0
    assert watched.watch.out_of_space()
    assert watched.watch.refusal() is not None  # at once, not at the next look
    assert "/data/store/gantry/reserve" in watched.text(0.0)
    assert not watched.watch.out_of_space()
    assert watched.text(LOOK_SECONDS)
    watched.disk.total_bytes = 1000 * 4096
    assert watched.text(2 * LOOK_SECONDS)
    watched.background.complete_all()
    for completion in watched.background.take_completions():
        watched.reserve.take(completion)
    assert not watched.text(3 * LOOK_SECONDS)


def test_partition_without_size_is_full() -> None:
    disk = MemoryDisk()
    reserve = Reserve(disk, MemoryBackground(disk))
    reserve.open()
    watch = DiskWatch(lambda _: Usage(0, 0), reserve, SETTINGS)
    watch.turn(0.0)
    assert watch.refusal() is not None
