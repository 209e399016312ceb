"""Tests the notes about replaced queues: their bytes, bound, damage, full disks and power cuts."""

from __future__ import annotations

import contextlib

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.consumequeue import replaced_queues
from gantrymq.store.consumequeue.replaced_queues import PATH, ReplacedQueues
from gantrymq.store.files import reserve
from gantrymq.store.layout import OWN
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

NOTES = [("T", 0, 100), ("%RETRY%é\udcff", 7, 200), ("T", 3, 300)]
ENDS = (4, 23, 53, 72)
"""Where the magic and each note end in the file."""


def disk_of_a_store(choose: Chooser = keep_all) -> FaultyDisk:
    disk = FaultyDisk(choose)
    disk.make_folder(OWN)
    disk.sync_folder("")
    return disk


def loaded(disk: FaultyDisk | MemoryDisk) -> ReplacedQueues:
    replaced = ReplacedQueues(disk)
    replaced.load()
    return replaced


def noted(disk: FaultyDisk | MemoryDisk) -> ReplacedQueues:
    replaced = loaded(disk)
    for note in NOTES:
        replaced.note(*note)
    return replaced


def content(disk: FaultyDisk | MemoryDisk) -> bytes:
    return disk.open(PATH).read(0, 1 << 20)


def overwrite(disk: FaultyDisk | MemoryDisk, data: bytes) -> None:
    file = disk.open(PATH)
    file.resize(len(data))
    file.write(0, [data])


def test_without_a_file_no_queue_was_replaced() -> None:
    disk = MemoryDisk()
    assert loaded(disk).behind(0) == set()
    assert disk.list("") == []


def test_file_has_the_documented_bytes() -> None:
    disk = MemoryDisk()
    loaded(disk).note("A", 2, 500)
    data = content(disk)
    assert data[:4] == b"GFR1"
    assert data[8:] == b"\0\1\0\0\0\2" + (500).to_bytes(8, "big") + b"A"


@pytest.mark.parametrize(
    ("log_end", "queue_ids"), [(0, {0, 7, 3}), (100, {0, 7, 3}), (101, {7, 3}), (301, set())]
)
def test_queues_whose_message_the_log_lacks_are_rebuilt(log_end: int, queue_ids: set[int]) -> None:
    disk = disk_of_a_store(lose_all)
    for replaced in (noted(disk), loaded(disk), loaded(disk.crash())):
        assert {queue_id for _, queue_id in replaced.behind(log_end)} == queue_ids


def test_last_note_of_a_queue_counts() -> None:
    disk = MemoryDisk()
    noted(disk).note("T", 0, 400)
    assert loaded(disk).behind(400) == {("T", 0)}


def test_notes_of_records_that_the_log_lacks_are_removed() -> None:
    disk = disk_of_a_store(lose_all)
    noted(disk).settle(101, 300, {})
    again = loaded(disk.crash())
    assert {queue_id for _, queue_id in again.behind(0)} == {7}
    again.note("T", 1, 250)
    assert {queue_id for _, queue_id in loaded(again._disk).behind(0)} == {7, 1}  # type: ignore[arg-type]


def test_settle_without_removals_writes_nothing() -> None:
    disk = FaultyDisk()
    replaced = noted(disk)
    before = disk.operations
    replaced.settle(100, 301, {})
    assert disk.operations == before


def test_full_disk_does_not_stop_a_start() -> None:
    disk = FaultyDisk()
    replaced = noted(disk)
    disk.fail("write", DiskFailure.NO_SPACE, times=2)
    replaced.settle(101, 300, {})
    assert {queue_id for _, queue_id in loaded(disk).behind(0)} == {0, 7, 3}


def test_refused_note_is_written_by_the_next_attempt() -> None:
    disk = FaultyDisk()
    replaced = noted(disk)
    disk.fail("write", DiskFailure.NO_SPACE)
    with pytest.raises(DiskError):
        replaced.note("U", 1, 400)
    replaced.note("U", 1, 400)
    replaced.note("U", 2, 500)
    assert loaded(disk).behind(400) == {("U", 1), ("U", 2)}


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_power_cut_leaves_all_synced_notes(choose: Chooser) -> None:
    for at in range(1, 30):
        disk = disk_of_a_store(choose)
        disk.crash_at = disk.operations + at
        done = 0
        with contextlib.suppress(PowerCut):
            replaced = loaded(disk)
            for note in NOTES:
                replaced.note(*note)
                done += 1
        found = loaded(disk.crash()).behind(0)
        places = [(topic, queue_id) for topic, queue_id, _ in NOTES]
        assert set(places[:done]) <= found <= set(places[: done + 1])


def test_unreadable_note_makes_the_notes_incomplete_until_settle() -> None:
    whole = MemoryDisk()
    noted(whole)
    data = content(whole)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        for wrong in (bytes(damaged), data[:at]):
            is_cut_between = at in ENDS and len(wrong) == at
            disk = MemoryDisk()
            noted(disk)
            overwrite(disk, wrong)
            assert loaded(disk).is_whole == is_cut_between
            loaded(disk).note("V", 9, 400)
            again = loaded(disk)
            assert again.is_whole == is_cut_between
            again.settle(0, 1000, {("V", 9): 400, ("W", 1): 500})
            again.note("X", 0, 600)
            last = loaded(disk)
            assert last.is_whole
            assert last.behind(400) == {("V", 9), ("W", 1), ("X", 0)}


def test_findings_of_the_rebuild_replace_stale_notes() -> None:
    disk = MemoryDisk()
    noted(disk).settle(0, 300, {("T", 3): 50})
    assert loaded(disk).behind(0) == {("T", 0), ("%RETRY%é\udcff", 7), ("T", 3)}
    assert loaded(disk).behind(101) == {("%RETRY%é\udcff", 7)}


def test_notes_are_bounded_and_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced_queues, "NOTES_MAX", 10)
    disk = MemoryDisk()
    replaced = loaded(disk)
    sizes = []
    for number in range(40):
        replaced.note("T", number, number)
        sizes.append(len(content(disk)))
    assert max(sizes) <= 4 + 10 * 19
    found = {queue_id for _, queue_id in loaded(disk).behind(0)}
    assert {*range(36, 40)} <= found
    assert len(found) <= 10


def test_repeatedly_replaced_queue_displaces_no_other_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replaced_queues, "NOTES_MAX", 10)
    disk = MemoryDisk()
    replaced = noted(disk)
    for position in range(400, 450):
        replaced.note("U", 0, position)
    assert {queue_id for _, queue_id in loaded(disk).behind(0)} == {0, 7, 3}
    assert loaded(disk).behind(449) == {("U", 0)}


def test_full_disk_writes_notes_into_reserved_space() -> None:
    disk = disk_of_a_store()
    disk.create(reserve.PATH).allocate(0, 1 << 20)
    noted(disk)
    disk.fail("write", DiskFailure.NO_SPACE, path=f"{PATH}.new")
    loaded(disk).settle(0, 1000, {("V", 9): 400})
    assert disk.open(reserve.PATH).size() == 0
    assert loaded(disk).behind(301) == {("V", 9)}


def test_without_reserved_space_the_next_note_writes_all() -> None:
    disk = disk_of_a_store()
    noted(disk)
    replaced = loaded(disk)
    disk.fail("write", DiskFailure.NO_SPACE, path=f"{PATH}.new", times=2)
    replaced.settle(0, 300, {("V", 9): 250})
    assert ("V", 9) not in loaded(disk).behind(0)
    replaced.note("X", 0, 600)
    assert loaded(disk).behind(0) == {("T", 0), ("%RETRY%é\udcff", 7), ("V", 9), ("X", 0)}
