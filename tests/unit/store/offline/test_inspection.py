"""Tests the inspection of whole stores: sound ones of Java, and each kind of damage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.fakes.stores.store_damage import (
    LOG,
    SECOND_LOG,
    flip,
    found,
    inspect,
    poke,
    remove_tree,
    tree,
)
from gantrymq.store.files.flush_positions import PATH as MARKS_PATH
from gantrymq.store.files.flush_positions import (
    VOID,
    FlushPositions,
    LogPosition,
    Slot,
    encode_slot,
)
from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.inspection import Assumptions, Inspection
from gantrymq.testing.memory_disk import MemoryDisk

STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
ERROR, WARNING = Severity.ERROR, Severity.WARNING

JavaStore = Callable[[str], MemoryDisk]


@pytest.mark.parametrize("name", STORES)
def test_java_stores_are_sound_and_unchanged(java_store: JavaStore, name: str) -> None:
    disk = java_store(name)
    before = tree(disk)
    seen = inspect(disk)
    assert seen.findings.is_sound
    assert seen.findings.has(Kind.ABORT, Severity.NOTE) == name.endswith("crashed")
    assert seen.log.records == seen.queues.units > 0
    assert seen.index.entries
    assert tree(disk) == before


def test_an_empty_store_is_sound() -> None:
    disk = MemoryDisk()
    disk.make_folder("commitlog")
    assert inspect(disk).findings.is_sound


def lose_the_middle(disk: MemoryDisk) -> None:
    disk.rename(SECOND_LOG, "commitlog/00000000000000131072")


@pytest.mark.parametrize(
    ("harm", "kind", "severity"),
    [
        (lambda disk: flip(disk, LOG, 245 + 90), Kind.LOG_DAMAGE, ERROR),
        (lambda disk: flip(disk, LOG, 4), Kind.LOG_DAMAGE, ERROR),
        (lambda disk: poke(disk, LOG, 245, bytes(4)), Kind.LOG_DAMAGE, ERROR),
        (lambda disk: flip(disk, LOG, 245 + 35, 1), Kind.LOG_DAMAGE, ERROR),
        (lambda disk: flip(disk, SECOND_LOG, 88_252 - 65_536 + 90), Kind.LOG_TORN, WARNING),
        (lambda disk: disk.open(LOG).resize(60_000), Kind.LENGTH, ERROR),
        (lambda disk: disk.open(SECOND_LOG).resize(60_000), Kind.LENGTH, WARNING),
        (lambda disk: disk.open(SECOND_LOG).resize(70_000), Kind.LENGTH, ERROR),
        (lambda disk: disk.remove(LOG), Kind.UNIT_MISSING, None),
        (lose_the_middle, Kind.FILE_MISSING, ERROR),
        (lambda disk: disk.remove(SECOND_LOG), Kind.FILE_MISSING, ERROR),
        (lambda disk: disk.create("commitlog/notes.txt"), Kind.FOREIGN, ERROR),
        (lambda disk: disk.make_folder("commitlog/old"), Kind.FOREIGN, ERROR),
        (lambda disk: disk.create("commitlog/00000000000000131072"), Kind.LENGTH, WARNING),
        (lambda disk: disk.open("checkpoint").resize(10), Kind.CHECKPOINT, WARNING),
        (lambda disk: flip(disk, "checkpoint", 0, 0x80), Kind.CHECKPOINT, WARNING),
        (lambda disk: flip(disk, "checkpoint", 2, 2), Kind.CHECKPOINT, WARNING),
    ],
)
def test_damage_is_found(
    java_store: JavaStore,
    harm: Callable[[MemoryDisk], object],
    kind: Kind,
    severity: Severity | None,
) -> None:
    disk = java_store("5.3.3-clean")
    harm(disk)
    assert found(disk).get(kind) == severity


def test_log_without_its_oldest_files_is_sound(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    disk.remove(LOG)
    assert inspect(disk).findings.is_sound


@pytest.mark.parametrize("name", STORES)
def test_missing_log_is_the_only_finding(java_store: JavaStore, name: str) -> None:
    disk = java_store(name)
    remove_tree(disk, "commitlog")
    assert found(disk) == {Kind.LOG_MISSING: ERROR}


def test_dangling_link_is_reported_even_without_messages() -> None:
    seen = Inspection(MemoryDisk(), Assumptions(log_link="/logs"))
    assert not list(seen.run())
    (finding,) = seen.findings.kept()
    assert finding.text == "is a link to /logs, and nothing is there"


def test_void_flush_positions_are_ignored(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    put_marks(disk, VOID.log)
    poke(disk, LOG, 244, b"\0")  # behind the mark of a log, this would be a torn record
    told = found(disk)
    remove_tree(disk, "gantry")
    assert told == found(disk)


def test_records_behind_damage_are_still_compared(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    flip(disk, LOG, 245 + 90)
    seen = inspect(disk)
    assert seen.log.records == 214
    assert (seen.breaks[0].position, seen.breaks[0].end) == (245, 497)


def test_a_missing_checkpoint_is_a_note(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    disk.remove("checkpoint")
    assert found(disk) == {}


def test_a_store_without_index_is_sound_only_when_it_is_switched_off(
    java_store: JavaStore,
) -> None:
    disk = java_store("5.3.3-clean")
    remove_tree(disk, "index")
    assert found(disk) == {Kind.INDEX_MISSING: WARNING}
    without = Inspection(disk, Assumptions(has_index=False))
    assert list(without.run())
    assert without.findings.is_sound


def put_marks(disk: MemoryDisk, mark: LogPosition) -> None:
    disk.make_folder("gantry")
    slot = encode_slot(Slot(1, FlushPositions(mark), 65_536, 400))
    disk.create(MARKS_PATH).write(0, [slot])


def test_flush_positions_above_the_end_of_the_log_are_a_loss(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    put_marks(disk, LogPosition(90_000, 89_000, 1))
    assert found(disk) == {Kind.LOG_LOST: ERROR}


def test_flush_positions_of_another_history_are_a_note(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    put_marks(disk, LogPosition(497, 245, 1))
    seen = inspect(disk)
    assert seen.findings.is_sound
    assert seen.findings.has(Kind.MARKS, Severity.NOTE)


def test_correct_flush_positions_are_no_finding(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    put_marks(disk, LogPosition(245, 0, 1_795_224_404_040))
    assert inspect(disk).findings.kept() == []


def test_number_of_findings_is_bounded(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    remove_tree(disk, "consumequeue/VecTopic")
    poke(disk, "index/20261121012644065", 40 + 800 + 20, bytes(20 * 99))
    seen = inspect(disk)
    counts = seen.findings.counts()
    assert max(counts.values()) > 50
    assert len(seen.findings.kept()) <= 20 * len(counts)
