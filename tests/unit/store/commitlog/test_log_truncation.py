"""Tests the truncation of a sound log, and the start that carries it out."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from gantrymq.base.disk import Disk
from gantrymq.fakes.stores.store import SYNC, OpenedStore
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.store.commitlog.truncated_tails import TAILS, list_tails
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import messages_by_key
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

BODIES = [b"body %d" % number for number in range(100)]


def written(disk: FaultyDisk | MemoryDisk, *, is_clean: bool = True) -> list[int]:
    """Write a store of a hundred messages in five files; return their positions and the log's
    end."""
    opened = OpenedStore(disk, SYNC)
    opened.put(*range(100))
    for _ in range(4):
        opened.turn(61.0)
        opened.settle()
    places = [record.physical_offset for record in opened.records("T", 0)]
    places.append(opened.store.log.end)
    if is_clean:
        opened.close()
    return places


def log(disk: Disk, start: int, end: int) -> bytes:
    files = sorted(disk.list("commitlog"), key=lambda each: each.name)
    data = b"".join(disk.open(f"commitlog/{each.name}").read(0, each.size) for each in files)
    return data[start - int(files[0].name) : end - int(files[0].name)]


def tails(disk: Disk) -> list[bytes]:
    found = disk.list(TAILS)
    return [disk.open(f"{TAILS}/{each.name}").read(0, each.size) for each in found]


def found_by_key(opened: OpenedStore, key: str) -> int:
    return len(run(messages_by_key(opened.store, "T", key, 32, 0, 1 << 60)).messages)


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("kept", [1, 25, 40, 99])
def test_log_queues_and_index_end_at_the_truncation_and_continue(
    kept: int, *, is_clean: bool
) -> None:
    disk = MemoryDisk()
    places = written(disk, is_clean=is_clean)
    behind = log(disk, places[kept], places[-1])
    log_truncation.request(disk, TruncationRequest(places[kept]))
    opened = OpenedStore(disk, SYNC)
    assert opened.bodies() == BODIES[:kept]
    assert [found_by_key(opened, f"k{number}") for number in (kept - 1, kept, 99)] == [1, 0, 0]
    assert tails(disk) == [behind]
    opened.put(500)
    opened.settle()
    opened.close()
    again = OpenedStore(disk, SYNC)
    assert again.bodies() == [*BODIES[:kept], b"body 500"]
    assert len(tails(disk)) == 1


def test_record_across_the_position_is_removed() -> None:
    disk = MemoryDisk()
    places = written(disk)
    log_truncation.request(disk, TruncationRequest(places[40] + 1))
    opened = OpenedStore(disk, SYNC)
    assert opened.bodies() == BODIES[:40]


def test_truncation_may_leave_no_record() -> None:
    disk = MemoryDisk()
    places = written(disk)
    behind = log(disk, 0, places[-1])
    log_truncation.request(disk, TruncationRequest(0))
    assert OpenedStore(disk, SYNC).bodies() == []
    assert tails(disk) == [behind]


def test_request_beyond_the_end_truncates_nothing() -> None:
    disk = MemoryDisk()
    places = written(disk)
    log_truncation.request(disk, TruncationRequest(places[-1] + 5))
    assert OpenedStore(disk, SYNC).bodies() == BODIES
    assert log_truncation.requested(disk) is None


def test_truncation_at_the_start_of_a_file() -> None:
    disk = MemoryDisk()
    places = written(disk)
    log_truncation.request(disk, TruncationRequest(4096))
    opened = OpenedStore(disk, SYNC)
    kept = sum(place < 4096 for place in places)
    assert opened.bodies() == BODIES[:kept]
    assert opened.store.log.end <= 4096


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_interrupted_truncation_is_repeated_without_loss(choose: Chooser) -> None:
    for operations in range(1, 60):
        disk = FaultyDisk(choose)
        places = written(disk)
        behind = log(disk, places[40], places[-1])
        log_truncation.request(disk, TruncationRequest(places[40]))
        disk = disk.kill()
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            OpenedStore(disk, SYNC)
        disk = disk.crash()
        assert OpenedStore(disk, SYNC).bodies() == BODIES[:40]
        assert behind in tails(disk)


def test_bytes_that_the_master_has_are_not_saved() -> None:
    disk = MemoryDisk()
    places = written(disk)
    behind = log(disk, places[60], places[-1])
    log_truncation.request(disk, TruncationRequest(0, shared=places[60] + 1, epoch=7))
    opened = OpenedStore(disk, SYNC)
    assert opened.bodies() == []
    (tail,) = list_tails(disk)
    assert (tail.start, tail.end, tail.epoch) == (places[60], places[-1], 7)
    assert tails(disk) == [behind]
    assert opened.store.report.kept_tail == tail.path


def test_no_tail_is_saved_when_the_master_has_the_whole_log() -> None:
    disk = MemoryDisk()
    places = written(disk)
    log_truncation.request(disk, TruncationRequest(0, shared=places[-1]))
    opened = OpenedStore(disk, SYNC)
    assert opened.bodies() == []
    assert tails(disk) == []
    assert opened.store.report.kept_tail == ""


def test_older_tail_is_deleted_for_a_newer_one_and_reported() -> None:
    disk = MemoryDisk()
    places = written(disk)
    few = replace(SYNC, kept_tails_bytes_max=1)
    log_truncation.request(disk, TruncationRequest(places[60], epoch=1))
    OpenedStore(disk, few).close()
    (old,) = list_tails(disk)
    log_truncation.request(disk, TruncationRequest(places[50], epoch=2))
    opened = OpenedStore(disk, few)
    assert [tail.epoch for tail in list_tails(disk)] == [2]
    assert opened.store.report.removed_tails == [old.path]


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_repeated_truncation_keeps_its_own_tail(choose: Chooser) -> None:
    few = replace(SYNC, kept_tails_bytes_max=1)
    for operations in range(1, 60):
        disk = FaultyDisk(choose)
        places = written(disk)
        behind = log(disk, places[40], places[-1])
        log_truncation.request(disk, TruncationRequest(places[40], epoch=1))
        disk = disk.kill()
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            OpenedStore(disk, few)
        disk = disk.crash()
        OpenedStore(disk, few)
        assert behind in tails(disk)


def test_damaged_request_is_refused_with_a_remedy() -> None:
    disk = MemoryDisk()
    written(disk)
    log_truncation.request(disk, TruncationRequest(5))
    disk.open(log_truncation.PATH).write(9, [b"x"])
    with pytest.raises(StoreRefusedError, match=r"cut is damaged.*Remove it"):
        OpenedStore(disk, SYNC)
