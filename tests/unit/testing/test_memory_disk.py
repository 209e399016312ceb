"""Tests the disk in memory: what a test sets by hand, beyond the port's contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import BLOCK_BYTES, MemoryDisk, MemoryFile


def free(disk: MemoryDisk) -> int:
    return disk.usage("").free_bytes


def test_files_are_stamped_by_the_clock_that_was_set() -> None:
    disk = MemoryDisk(now_ms=1000)
    file = disk.create("a")
    disk.now_ms = 2000
    disk.create("b").close()
    assert [entry.modified_ms for entry in disk.list("")] == [1000, 2000]
    disk.now_ms = 3000
    file.write(0, [b"x"])
    assert [entry.modified_ms for entry in disk.list("")] == [3000, 2000]


@pytest.mark.parametrize(
    "call",
    [
        lambda file: file.write(BLOCK_BYTES, [bytes(2 * BLOCK_BYTES)]),
        lambda file: file.allocate(0, 3 * BLOCK_BYTES),
    ],
)
def test_a_full_disk_refuses_with_nothing_changed(call: Callable[[MemoryFile], object]) -> None:
    disk = MemoryDisk(total_bytes=2 * BLOCK_BYTES)
    file = disk.create("a")
    file.write(0, [b"x"])
    with pytest.raises(DiskError) as caught:
        call(file)
    assert caught.value.failure is DiskFailure.NO_SPACE
    assert file.size() == 1
    assert free(disk) == BLOCK_BYTES


def test_allocated_space_is_never_refused() -> None:
    disk = MemoryDisk(total_bytes=4 * BLOCK_BYTES)
    file = disk.create("a")
    file.allocate(0, 4 * BLOCK_BYTES)
    assert free(disk) == 0
    disk.total_bytes = 0
    file.write(BLOCK_BYTES, [bytes(3 * BLOCK_BYTES)])


def test_resize_takes_no_space_and_gives_back() -> None:
    disk = MemoryDisk(total_bytes=4 * BLOCK_BYTES)
    file = disk.create("a")
    file.resize(100 * BLOCK_BYTES)
    assert free(disk) == 4 * BLOCK_BYTES
    file.write(BLOCK_BYTES, [bytes(2 * BLOCK_BYTES)])
    file.resize(BLOCK_BYTES + 1)
    assert free(disk) == 3 * BLOCK_BYTES


def test_a_removed_file_gives_its_space_back_when_it_is_closed() -> None:
    disk = MemoryDisk(total_bytes=4 * BLOCK_BYTES)
    file = disk.create("a")
    file.allocate(0, BLOCK_BYTES)
    disk.remove("a")
    assert free(disk) == 3 * BLOCK_BYTES
    file.close()
    assert free(disk) == 4 * BLOCK_BYTES


def test_a_replaced_file_gives_its_space_back() -> None:
    disk = MemoryDisk(total_bytes=4 * BLOCK_BYTES)
    for name in ("a", "b"):
        file = disk.create(name)
        file.allocate(0, BLOCK_BYTES)
        file.close()
    disk.rename("a", "b")
    assert free(disk) == 3 * BLOCK_BYTES


def test_forgotten_blocks_are_cold_until_they_are_read() -> None:
    file = MemoryDisk().create("a")
    file.write(0, [bytes(4 * BLOCK_BYTES)])
    file.forget_cached(0, BLOCK_BYTES)
    assert file.read_cached(BLOCK_BYTES, 10) == bytes(10)
    assert file.read_cached(BLOCK_BYTES - 1, 10) is None
    file.read(0, 1)
    assert file.read_cached(BLOCK_BYTES - 1, 10) == bytes(10)


def test_a_file_system_that_cannot_tell_never_answers_at_once() -> None:
    disk = MemoryDisk()
    disk.reads_cached = False
    file = disk.create("a")
    file.write(0, [b"abc"])
    assert file.read_cached(0, 3) is None
    assert file.read(0, 3) == b"abc"


def test_locks_end_with_their_process() -> None:
    disk = MemoryDisk()
    disk.lock("lock")
    disk.end_process()
    MemoryDisk(disk.storage).lock("lock")
    with pytest.raises(DiskError):
        disk.lock("lock")


def test_tickets_end_when_and_in_the_order_that_the_test_says() -> None:
    disk = MemoryDisk()
    background = MemoryBackground(disk)
    file = disk.create("a")
    first, second, third = (background.read(file, 0, 4) for _ in range(3))
    assert [job.kind for job in background.jobs] == ["read", "read", "read"]
    background.complete(third)
    file.write(0, [b"late"])
    background.complete(first)
    ended = background.take_completions()
    assert [(completion.ticket, completion.data) for completion in ended] == [
        (third, b""),
        (first, b"late"),
    ]
    assert [job.ticket for job in background.jobs] == [second]
    with pytest.raises(LocalError):
        background.complete(first)


def test_some_tickets_end_in_any_order() -> None:
    disk = MemoryDisk()
    background = MemoryBackground(disk)
    file = disk.create("a")
    tickets = [background.sync(file) for _ in range(4)]
    answers = iter([2, 3, 0])  # two of them: the last, then the first
    background.complete_some(lambda count: next(answers) % count)
    ended = [completion.ticket for completion in background.take_completions()]
    assert ended == [tickets[3], tickets[0]]
