"""Tests how a start finds the end of a consume queue in its files, after a stop and a crash."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue.queue_folder import (
    AfterCrash,
    QueueFolders,
    Survey,
    folder_fault,
    survey,
)
from gantrymq.store.consumequeue.queue_unit import BLANK, UNIT, UNIT_BYTES
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.testing.memory_disk import MemoryDisk

FILE_UNITS = 4
FILE_BYTES = FILE_UNITS * UNIT_BYTES
FOLDER = "consumequeue/T/0"


def folders_on(disk: MemoryDisk) -> QueueFolders:
    return QueueFolders(OpenFiles(disk), "consumequeue", FILE_BYTES)


def surveyed(disk: MemoryDisk, *, is_clean: bool) -> Survey:
    crash = None if is_clean else AfterCrash(1 << 60, lambda *_: True)
    return survey(folders_on(disk), "T", 0, crash)


def places(found: Survey) -> tuple[int, int, int]:
    return found.start, found.files_end, found.end


def write_files(disk: MemoryDisk, files: dict[int, list[int]], size: int = FILE_BYTES) -> None:
    """Write files by their first unit, with these sizes of units; 0 for none."""
    disk.make_folder(FOLDER)
    for first, sizes in files.items():
        file = disk.create(f"{FOLDER}/{first * UNIT_BYTES:020d}")
        file.write(0, [UNIT.pack((first + n) * 9, size, 0) for n, size in enumerate(sizes)])
        file.resize(size)


def test_missing_folder_is_an_empty_queue() -> None:
    assert surveyed(MemoryDisk(), is_clean=True) == Survey(0, 0, 0)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize(
    ("files", "end"),
    [
        ({0: []}, 0),
        ({0: [1]}, 1),
        ({0: [1] * 4}, 4),
        ({0: [1] * 4, 4: []}, 4),
        ({0: [1] * 4, 4: [1, 1]}, 6),
        ({8: [1] * 4, 12: [1] * 3}, 15),
    ],
)
def test_the_end_is_behind_the_last_valid_unit(
    files: dict[int, list[int]], end: int, *, is_clean: bool
) -> None:
    disk = MemoryDisk()
    write_files(disk, files)
    found = surveyed(disk, is_clean=is_clean)
    assert places(found) == (min(files), max(files) + FILE_UNITS, end)
    assert len(found.last) == (UNIT_BYTES if end else 0)


def test_after_a_crash_the_first_invalid_unit_ends_the_queue() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1, 1, 0, 1]})
    assert surveyed(disk, is_clean=False).end == 2


def test_after_a_crash_a_unit_out_of_order_ends_the_queue() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: []})
    file = disk.open(f"{FOLDER}/{0:020d}")
    file.write(0, [UNIT.pack(offset, 1, 0) for offset in (5, 9, 8, 10)])
    assert surveyed(disk, is_clean=False).end == 2
    assert surveyed(disk, is_clean=True).end == 4


def crashed(disk: MemoryDisk, synced_offset: int, records: set[tuple[int, int]]) -> int:
    """The end of the queue after a crash, if the log has these (queue offset, physical offset)."""
    crash = AfterCrash(
        synced_offset, lambda _topic, _id, offset, physical, _size: (offset, physical) in records
    )
    return survey(folders_on(disk), "T", 0, crash).end


def write_offsets(disk: MemoryDisk, offsets: list[int]) -> None:
    """Write a queue of these physical offsets; -1 for no unit."""
    disk.make_folder(FOLDER)
    for first in range(0, len(offsets), FILE_UNITS):
        file = disk.create(f"{FOLDER}/{first * UNIT_BYTES:020d}")
        units = [UNIT.pack(max(0, each), each >= 0, 0) for each in offsets[first:][:FILE_UNITS]]
        file.write(0, units)
        file.resize(FILE_BYTES)


def test_only_units_below_the_synced_position_are_trusted() -> None:
    disk = MemoryDisk()
    write_offsets(disk, [10, 20, 30, 40, 50, 60])
    sound = {(n, 10 * n + 10) for n in range(6)}
    for synced_offset in range(80):
        assert crashed(disk, synced_offset, sound) == min(6, max(0, synced_offset - 1) // 10)


def test_torn_last_unit_is_detected_by_the_log() -> None:
    disk = MemoryDisk()
    write_offsets(disk, [10, 20, 25])
    assert crashed(disk, 30, {(0, 10), (1, 20), (2, 30)}) == 2


def test_units_without_a_record_in_the_log_are_dropped() -> None:
    for true_count in range(7):
        disk = MemoryDisk()
        write_offsets(disk, [10, 20, 30, 40, 50, 60])
        assert crashed(disk, 70, {(n, 10 * n + 10) for n in range(true_count)}) == true_count


def test_units_of_expired_records_are_trusted() -> None:
    disk = MemoryDisk()
    write_offsets(disk, [10, 20, 30])
    folders = folders_on(disk)
    crash = AfterCrash(100, lambda *_: False)
    assert survey(folders, "T", 0, crash).end == 0
    folders.log_minimum = 40
    assert survey(folders, "T", 0, crash).end == 3


def test_a_torn_blank_reaches_into_a_log_that_begins_behind_it() -> None:
    """If it were trusted, its log position would be above those of all later units."""
    disk = MemoryDisk()
    disk.make_folder(FOLDER)
    file = disk.create(f"{FOLDER}/{0:020d}")
    file.write(0, [BLANK[:9]])
    file.resize(FILE_BYTES)
    folders = folders_on(disk)
    folders.log_minimum = 40
    assert survey(folders, "T", 0, AfterCrash(100, lambda *_: False)).end == 0


@pytest.mark.parametrize("end", [0, 1, 203, 204, 205, 408, 409, 2999, 3000])
def test_the_end_in_a_long_file_is_found(end: int) -> None:
    disk = MemoryDisk()
    disk.make_folder(FOLDER)
    file = disk.create(f"{FOLDER}/{0:020d}")
    file.write(0, [UNIT.pack(n, 1, n) for n in range(end)])
    file.resize(3000 * UNIT_BYTES)
    folders = QueueFolders(OpenFiles(disk), "consumequeue", 3000 * UNIT_BYTES)
    for crash in (None, AfterCrash(1 << 60, lambda *_: True)):
        found = survey(folders, "T", 0, crash)
        assert found.end == end
        assert found.last == (UNIT.pack(end - 1, 1, end - 1) if end else b"")


def test_hole_above_the_synced_position_is_found() -> None:
    disk = MemoryDisk()
    write_offsets(disk, [10, 20, -1, -1, *range(50, 250, 10)])
    sound = {(0, 10), (1, 20), *((n, 10 * n + 10) for n in range(4, 24))}
    assert crashed(disk, 30, sound) == 2


def test_files_before_a_confirmed_one_are_not_read() -> None:
    disk = MemoryDisk()
    write_offsets(disk, [-1, -1, -1, -1, 50, 60, 70, 80])
    assert crashed(disk, 75, {(4, 50), (6, 70)}) == 7


def test_a_hole_before_the_last_file_is_seen_after_a_clean_stop_too() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1, 1, 0, 0], 4: [1]})
    assert surveyed(disk, is_clean=True).end == 2


def test_missing_file_ends_the_queue_and_is_reported() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1] * 4, 8: [1] * 4})
    found = surveyed(disk, is_clean=True)
    assert (found.start, found.files_end, found.end) == (0, 12, 4)
    assert "a file is missing before 00000000000000000160" in found.fault


def test_an_empty_last_file_is_removed() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1] * 4})
    disk.create(f"{FOLDER}/{FILE_BYTES:020d}")
    assert places(surveyed(disk, is_clean=True)) == (0, 4, 4)
    assert len(disk.list(FOLDER)) == 1


@pytest.mark.parametrize("size", [1, 60, 100])
def test_a_wrong_length_is_refused(size: int) -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1]}, size)
    with pytest.raises(CorruptionError, match="mappedFileSizeConsumeQueue"):
        surveyed(disk, is_clean=True)


def test_after_a_crash_a_short_file_gets_its_length() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1, 1]}, 30)
    assert surveyed(disk, is_clean=False).end == 1
    assert disk.list(FOLDER)[0].size == FILE_BYTES


def test_oversized_file_is_refused() -> None:
    disk = MemoryDisk()
    write_files(disk, {0: [1]}, 100)
    with pytest.raises(CorruptionError, match="has 100 bytes, not 80"):
        surveyed(disk, is_clean=False)


@pytest.mark.parametrize("name", ["notes.txt", "0" * 19, f"{UNIT_BYTES:020d}", "9" * 20])
def test_files_with_foreign_names_are_refused(name: str) -> None:
    disk = MemoryDisk()
    disk.make_folder(FOLDER)
    disk.create(f"{FOLDER}/{name}").resize(FILE_BYTES)
    with pytest.raises(CorruptionError, match=name):
        surveyed(disk, is_clean=True)


def test_files_are_long_enough_for_whole_units() -> None:
    folders = QueueFolders(OpenFiles(MemoryDisk()), "q", 41)
    assert (folders.file_units, folders.file_bytes) == (3, 60)
    assert folders.path("T", 7, 5) == "q/T/7/00000000000000000060"
    with pytest.raises(LocalError, match="cannot have 0 bytes"):
        QueueFolders(OpenFiles(MemoryDisk()), "q", 0)


@pytest.mark.parametrize("topic", ["TopicTest", "%RETRY%group", "a|b", "été", "x" * 255, "..."])
def test_valid_topic_names_are_valid_folder_names(topic: str) -> None:
    assert folder_fault(topic, 0) is None


@pytest.mark.parametrize(
    ("topic", "queue_id"),
    [("", 0), (".", 0), ("..", 0), ("a/b", 0), ("/a", 0), ("a\0", 0), ("x" * 256, 0),
     ("é" * 128, 0), ("T", -1), ("T", 1 << 31)],
)  # fmt: skip
def test_invalid_topic_names_are_refused(topic: str, queue_id: int) -> None:
    assert folder_fault(topic, queue_id)
