"""Tests consume queues against stores that Java wrote: equal bytes, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queue_times import Boundary, offset_by_time
from gantrymq.store.consumequeue.queue_unit import units
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.tags import tags_code

FILE_BYTES = 400
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
DELAYS_S = [1, 5, 10, 30, *(60 * minutes for minutes in range(1, 11)), 1200, 1800, 3600, 7200]

JavaStore = Callable[[str], MemoryDisk]
Contents = Callable[[str], dict[str, Any]]
Records = Callable[[MemoryDisk], Iterator[Record]]


def dispatch(queues: Queues, records: Iterator[Record]) -> None:
    """What dispatching does, with the default delay levels."""
    for each in records:
        if sys_flag.transaction_type(each.sys_flag) not in {0, sys_flag.TRANSACTION_COMMIT}:
            continue
        code = tags_code(properties.get(each.properties, "TAGS"))
        if each.topic == b"SCHEDULE_TOPIC_XXXX":
            code = each.store_timestamp_ms + DELAYS_S[each.queue_id] * 1000
        queues.append(
            each.topic.decode(),
            each.queue_id,
            each.queue_offset,
            each.physical_offset,
            each.size,
            code,
        )


def tree(disk: MemoryDisk, folder: str) -> dict[str, bytes]:
    """Every file below the folder."""
    found: dict[str, bytes] = {}
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            found |= tree(disk, path)
        else:
            found[path] = disk.open(path).read(0, entry.size)
    return found


def opened(disk: MemoryDisk, *, is_clean: bool) -> Queues:
    queues = Queues(disk, FILE_BYTES)
    queues.load(0, None if is_clean else AfterCrash(1 << 60, lambda *_: True))
    return queues


def listed(queues: Queues) -> dict[str, list[list[int]]]:
    """The shape of the listings: [offset, physical offset, size, tags code]."""
    return {
        f"{queue.topic}/{queue.queue_id}": [
            [offset, *queue.unit(offset)] for offset in range(queue.minimum, queue.end)
        ]
        for queue in queues.queues()
        if queue.end
    }


@pytest.mark.parametrize("name", STORES)
def test_dispatch_of_a_java_log_creates_the_same_files(
    java_store: JavaStore, log_records: Records, name: str
) -> None:
    java = java_store(name)
    ours = MemoryDisk()
    queues = opened(ours, is_clean=True)
    dispatch(queues, log_records(java))
    queues.sync_all()
    assert tree(ours, "consumequeue") == tree(java, "consumequeue")


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
@pytest.mark.parametrize("is_clean", [True, False])
def test_java_files_are_read_as_listed(
    java_store: JavaStore, java_contents: Contents, version: str, *, is_clean: bool
) -> None:
    queues = opened(java_store(f"{version}-clean"), is_clean=is_clean)
    assert (
        listed(queues)
        == java_contents(f"{version}-clean")["consumequeue_offset_phyOffset_size_tagsCode"]
    )
    assert not queues.faults


@pytest.mark.parametrize("name", STORES)
def test_repeated_dispatch_changes_nothing(
    java_store: JavaStore, log_records: Records, name: str
) -> None:
    disk = java_store(name)
    before = tree(disk, "consumequeue")
    queues = opened(disk, is_clean=False)
    dispatch(queues, log_records(disk))
    assert queues.unwritten_bytes == 0
    queues.sync_all()
    assert tree(disk, "consumequeue") == before


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("position", [0, 1, 5000, 40_000, 70_000])
def test_a_cut_to_the_log_and_a_second_dispatch_restore_the_files(
    java_store: JavaStore, log_records: Records, name: str, position: int
) -> None:
    disk = java_store(name)
    before = tree(disk, "consumequeue")
    queues = opened(disk, is_clean=False)
    queues.cut_to_log(position)
    for queue in queues.queues():
        assert queue.physical_end <= position or queue.unit(queue.end - 1)[0] < position
    dispatch(queues, log_records(disk))
    queues.sync_all()
    assert tree(disk, "consumequeue") == before


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_offsets_by_time_equal_a_linear_search(
    java_store: JavaStore, log_records: Records, version: str
) -> None:
    disk = java_store(f"{version}-clean")
    times = {each.physical_offset: each.store_timestamp_ms for each in log_records(disk)}
    for queue in opened(disk, is_clean=True).queues():
        data = queue.read(0, 1000) or b""
        while len(data) < queue.end * 20:
            data += queue.read(len(data) // 20, 1000) or b""
        stored = [times[offset] for offset, _, _ in units(data, 0, "here")]
        for wanted in {0, *(time + step for time in stored for step in (-1, 0, 1)), 1 << 60}:
            lower = [n for n, time in enumerate(stored) if time >= wanted]
            upper = [n for n, time in enumerate(stored) if time <= wanted]
            answer = [
                offset_by_time(queue, wanted, boundary, lambda offset, _size: times[offset])
                for boundary in (Boundary.LOWER, Boundary.UPPER)
            ]
            assert answer == [min(lower, default=queue.end), max(upper, default=0)]
