"""Tests which old files are deleted, and that needed files never are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes.stores.retained_store import (
    HOUR,
    LOG_BYTES,
    RECORDS_A_FILE,
    ROUND_SECONDS,
    SETTINGS,
    START_MS,
    Kept,
    fill_disk,
    filled,
)
from gantrymq.store.retention.retention import (
    HOUR_MS,
    MANUAL_ROUNDS,
)


def test_old_files_are_deleted_in_their_hour_with_queue_and_index_files() -> None:
    kept = filled(hour=HOUR)
    kept.run(2.0)
    assert kept.files() == [5]
    kept.run(ROUND_SECONDS)
    queue = kept.queues.find("T", 0)
    assert queue is not None
    assert queue.minimum == 5 * RECORDS_A_FILE
    assert len(kept.disk.list("consumequeue/T/0")) == 1
    assert [entry.name for entry in kept.disk.list("index")] == ["20261121000000005"]
    assert kept.retention.failure is None


def test_nothing_is_deleted_at_another_hour() -> None:
    kept = filled(hour=HOUR + 1)
    kept.run(100.0)
    assert kept.files() == [0, 1, 2, 3, 4, 5]
    kept.hour = HOUR
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_changed_settings_apply_to_the_next_check() -> None:
    kept = filled(hour=HOUR + 1, hours_old=10)
    kept.run(ROUND_SECONDS)
    kept.retention.change(replace(SETTINGS, delete_when="05"))
    kept.run(ROUND_SECONDS)
    assert len(kept.files()) == 6, "the hour is right, they are too young"
    kept.retention.change(replace(SETTINGS, delete_when="05", file_reserved_time=10))
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_a_lower_ratio_deletes_at_any_hour() -> None:
    kept = filled()
    fill_disk(kept, 60)
    kept.run(2 * ROUND_SECONDS)
    assert len(kept.files()) == 6
    kept.retention.change(replace(SETTINGS, disk_max_used_space_ratio=59))
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_shorter_pause_applies_to_files_of_queues_too() -> None:
    slow = replace(
        SETTINGS,
        delete_commit_log_files_interval=3_600_000,
        delete_consume_queue_files_interval=3_600_000,
    )
    kept = filled(chosen=slow, hour=HOUR)
    kept.run(3 * ROUND_SECONDS)
    assert len(kept.files()) == 5
    kept.retention.change(SETTINGS)
    kept.run(3_600 + 3 * ROUND_SECONDS)
    assert kept.files() == [5]
    assert len(kept.disk.list("consumequeue/T/0")) == 1


def test_nothing_is_deleted_before_recovery_is_complete() -> None:
    kept = filled(hour=HOUR)
    kept.run(0.9)
    assert len(kept.files()) == 6


def test_young_files_are_kept() -> None:
    kept = filled(hour=HOUR, hours_old=71)
    kept.run(100.0)
    assert len(kept.files()) == 6


def test_young_file_keeps_the_later_ones() -> None:
    kept = filled(hour=HOUR)
    kept.disk.memory.now_ms = START_MS + HOUR_MS
    file = kept.disk.open(kept.log.segments.path_of(2 * LOG_BYTES))
    file.write(0, [file.read(0, 1)])
    kept.run(100.0)
    assert kept.files() == [2, 3, 4, 5]


@pytest.mark.parametrize(("percent", "left"), [(74, 6), (76, 1)])
def test_full_disk_deletes_at_any_hour(percent: int, left: int) -> None:
    kept = filled()
    fill_disk(kept, percent)
    kept.run(2.0)
    assert len(kept.files()) == left


@pytest.mark.parametrize(
    ("percent", "forcibly", "left"), [(84, True, 6), (86, True, 1), (86, False, 6), (99, False, 6)]
)
def test_young_files_are_deleted_only_with_forced_deletion(
    percent: int, left: int, *, forcibly: bool
) -> None:
    kept = filled(hours_old=1, chosen=replace(SETTINGS, clean_file_forcibly_enable=forcibly))
    fill_disk(kept, percent)
    kept.run(2.0)
    assert len(kept.files()) == left


def test_manual_request_deletes_old_files_at_any_hour() -> None:
    kept = filled(MANUAL_ROUNDS + 2, chosen=replace(SETTINGS, delete_file_batch_max=1))
    kept.now = 0.0
    kept.retention.delete_now()
    kept.turn()
    kept.complete()
    assert kept.files()[0] == 1
    kept.run(2 * MANUAL_ROUNDS * ROUND_SECONDS)
    assert kept.files() == [MANUAL_ROUNDS, MANUAL_ROUNDS + 1]
    young = filled(hours_old=71)
    young.retention.delete_now()
    young.run(100.0)
    assert len(young.files()) == 6


def test_invalid_hours_are_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError, match="deleteWhen=four"):
        Kept(chosen=replace(SETTINGS, delete_when="four"))
