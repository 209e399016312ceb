"""Tests that damage of consume queues, or of their log, is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.stores.store_damage import (
    LOG,
    SECOND_LOG,
    flip,
    found,
    inspect,
    poke,
    remove_tree,
)
from gantrymq.store.consumequeue.queue_unit import BLANK, UNIT
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.offline.finding import Findings, Kind, Severity
from gantrymq.store.offline.queue_inspection import LogRange, QueueInspection
from gantrymq.testing.memory_disk import MemoryDisk

ERROR, WARNING = Severity.ERROR, Severity.WARNING
QUEUE = "consumequeue/VecTopic/0"
FILE = f"{QUEUE}/00000000000000000000"
SECOND = f"{QUEUE}/00000000000000000400"
SCHEDULE = "consumequeue/SCHEDULE_TOPIC_XXXX/1/00000000000000000000"

JavaStore = Callable[[str], MemoryDisk]


def cut_last_record(disk: MemoryDisk) -> None:
    """The log's last record and all behind it become zeros."""
    at = inspect(disk).log.end - 65_536
    poke(disk, SECOND_LOG, at - 287, bytes(287))


@pytest.mark.parametrize(
    ("harm", "kind", "severity"),
    [
        (lambda disk: poke(disk, FILE, 60, bytes(20)), Kind.UNIT_MISSING, ERROR),
        (lambda disk: poke(disk, FILE, 60, BLANK), Kind.UNIT_WRONG, ERROR),
        (lambda disk: flip(disk, FILE, 67), Kind.UNIT_WRONG, ERROR),
        (lambda disk: flip(disk, FILE, 71), Kind.UNIT_WRONG, ERROR),
        (lambda disk: flip(disk, FILE, 79), Kind.UNIT_TAGS, ERROR),
        (lambda disk: flip(disk, SCHEDULE, 18), Kind.UNIT_DELAY, WARNING),
        (lambda disk: remove_tree(disk, "consumequeue/VecTopic"), Kind.UNIT_MISSING, ERROR),
        (lambda disk: disk.remove(SECOND), Kind.UNIT_MISSING, ERROR),
        (lambda disk: disk.remove(FILE), Kind.UNIT_MISSING, ERROR),
        (lambda disk: disk.open(FILE).resize(100), Kind.QUEUE_FILES, ERROR),
        (lambda disk: disk.open(FILE).resize(500), Kind.QUEUE_FILES, ERROR),
        (lambda disk: disk.create(f"{QUEUE}/x"), Kind.FOREIGN, ERROR),
        (lambda disk: disk.make_folder("consumequeue/VecTopic/x"), Kind.FOREIGN, ERROR),
        (lambda disk: disk.create("consumequeue/x"), Kind.FOREIGN, ERROR),
        (cut_last_record, Kind.UNIT_AHEAD, ERROR),
    ],
)
def test_damage_is_found(
    java_store: JavaStore, harm: Callable[[MemoryDisk], object], kind: Kind, severity: Severity
) -> None:
    disk = java_store("5.3.3-clean")
    harm(disk)
    assert found(disk).get(kind) == severity


def test_a_gap_between_files_is_found(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    disk.rename(SECOND, f"{QUEUE}/00000000000000000800")
    assert found(disk).get(Kind.QUEUE_FILES) == ERROR


def test_units_lost_by_a_crash_are_a_note(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-crashed")
    remove_tree(disk, "consumequeue/%DLQ%VecGroup")  # of a message in the newest file
    seen = inspect(disk)
    assert seen.findings.is_sound
    assert seen.findings.has(Kind.UNIT_PENDING, Severity.NOTE)


def test_missing_units_below_the_checkpoint_are_an_error_after_a_crash(
    java_store: JavaStore,
) -> None:
    disk = java_store("5.3.3-crashed")
    remove_tree(disk, "consumequeue/VecTopic")  # the next start begins behind its messages
    assert found(disk)[Kind.UNIT_MISSING] == ERROR


def test_units_ahead_of_the_log_after_a_crash_are_a_warning(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    cut_last_record(disk)
    disk.create("abort")
    assert found(disk).get(Kind.UNIT_AHEAD) == WARNING


@given(at=st.integers(0, 20 * 20 - 1), bit=st.integers(0, 7))
def test_any_flipped_bit_of_a_unit_is_found(at: int, bit: int) -> None:
    disk, inspection = rows(20)
    flip(disk, "consumequeue/T/0/00000000000000000000", at, 1 << bit)
    assert not sees(disk, inspection, 20).is_sound


def test_message_lost_by_the_log_is_reported_by_its_queue(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    flip(disk, LOG, 497 + 90)  # the second message of VecTopic/0
    assert found(disk)[Kind.QUEUE_GAP] == ERROR


def rows(count: int, start: int = 0) -> tuple[MemoryDisk, Findings]:
    """A queue of `count` units whose records are 100 bytes long each."""
    disk = MemoryDisk()
    disk.make_folder("consumequeue/T/0")
    units = b"".join(UNIT.pack(100 * number, 100, 7) for number in range(start, start + count))
    file = disk.create("consumequeue/T/0/00000000000000000000")
    file.write(0, [BLANK * start + units])
    file.resize(20 * 100)
    return disk, Findings()


def sees(
    disk: MemoryDisk, findings: Findings, end: int, first: int = 0, *, is_crashed: bool = False
) -> Findings:
    """What the inspection says when the log has messages `first` to `end` of the queue."""
    inspection = QueueInspection(disk, 2000, findings)
    inspection.load()
    for number in range(first, end):
        inspection.see(("T", 0), number, (100 * number, 100, 7))
    list(inspection.finish(LogRange(100 * first, 100 * end, is_crashed)))
    return findings


def test_units_of_expired_records_are_sound() -> None:
    assert sees(*rows(20), 20, first=15).is_sound
    assert sees(*rows(20), 20, first=20).is_sound


def test_blank_units_before_the_first_record_are_sound() -> None:
    assert sees(*rows(5, start=10), 15, first=10).is_sound


def test_unit_before_the_first_record_with_a_log_position_is_stray() -> None:
    disk, findings = rows(20)
    poke(disk, "consumequeue/T/0/00000000000000000000", 40, UNIT.pack(1600, 100, 7))
    assert sees(disk, findings, 20, first=15).has(Kind.UNIT_WRONG)


def test_an_offset_that_comes_twice_is_a_warning() -> None:
    disk, findings = rows(3)
    inspection = QueueInspection(disk, 2000, findings)
    inspection.load()
    inspection.see(("T", 0), 0, (0, 100, 7))
    inspection.see(("T", 0), 0, (100, 100, 7))
    assert findings.has(Kind.QUEUE_TWICE)


def test_a_gap_in_the_offsets_is_an_error_unless_the_units_are_blank() -> None:
    for filler, is_sound in ((BLANK, True), (UNIT.pack(100, 100, 7), False)):
        disk, findings = rows(3)
        poke(disk, "consumequeue/T/0/00000000000000000000", 20, filler)
        inspection = QueueInspection(disk, 2000, findings)
        inspection.load()
        inspection.see(("T", 0), 0, (0, 100, 7))
        inspection.see(("T", 0), 2, (200, 100, 7))
        assert findings.is_sound is is_sound
        assert bool(inspection.why_not_rebuilt(("T", 0), POSITION_MAX)) is not is_sound


def test_a_queue_of_expired_messages_cannot_be_rebuilt() -> None:
    disk, findings = rows(3)
    inspection = QueueInspection(disk, 2000, findings)
    inspection.load()
    assert "next offset" in inspection.why_not_rebuilt(("T", 0), POSITION_MAX)


def test_a_queue_whose_messages_all_lie_behind_the_logs_new_end_cannot_be_rebuilt() -> None:
    disk, findings = rows(20)
    inspection = QueueInspection(disk, 2000, findings)
    inspection.load()
    for number in range(15, 20):
        inspection.see(("T", 0), number, (100 * number, 100, 7))
    assert "next offset" in inspection.why_not_rebuilt(("T", 0), 1500)
    assert inspection.why_not_rebuilt(("T", 0), 1600) == ""


def test_a_queue_that_begins_behind_the_logs_new_end_may_begin_again_where_it_began_at_0() -> None:
    disk, findings = rows(3)
    inspection = QueueInspection(disk, 2000, findings)
    inspection.load()
    inspection.see(("T", 0), 0, (100, 100, 7))
    assert inspection.why_not_rebuilt(("T", 0), 50) == ""


def test_an_address_of_another_file_is_no_wrong_tags_code() -> None:
    disk, findings = rows(3)
    disk.make_folder("consumequeue_ext")
    poke(disk, "consumequeue/T/0/00000000000000000000", 20, UNIT.pack(100, 100, -(1 << 62)))
    assert sees(disk, findings, 3).is_sound
