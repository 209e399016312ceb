"""Tests the runner of read tasks: their order, bounds, errors and ends."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import Completion, DiskError, DiskFailure, File
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.read.async_reader import (
    RESUMED_A_TURN,
    AsyncReader,
    ReadTask,
    Wanted,
    fetch,
    run,
)
from gantrymq.store.read.read_result import Finished
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk


def hot() -> ReadTask[str]:
    yield from ()
    return "at once"


def resting(times: int) -> ReadTask[int]:
    for _ in range(times):
        yield None
    return times


def broken(error: Exception) -> ReadTask[None]:
    yield from ()
    raise error


class Desk:
    """Tasks that read the files `0` to `9`, each of which has its name ten times."""

    def __init__(self, under_way_max: int = 32) -> None:
        self.disk = MemoryDisk()
        for number in range(10):
            self.disk.create(str(number)).write(0, [b"%d" % number * 10])
        self.background = MemoryBackground(self.disk)
        self.reader = AsyncReader(self.background, under_way_max)

    def wanted(self, number: int, size: int = 3) -> Wanted:
        def file() -> File:
            return self.disk.open(str(number))

        return Wanted(file, 1, size)

    def cold(self, *numbers: int) -> ReadTask[bytes]:
        found = b""
        for number in numbers:
            found += yield from fetch(self.wanted(number))
        return found

    def patient(self, number: int) -> ReadTask[str]:
        try:
            yield self.wanted(number)
        except DiskError as error:
            return error.failure.name
        return "read"

    @property
    def paths(self) -> list[str]:
        return [job.path for job in self.background.jobs]

    def complete(self) -> list[Finished]:
        """Complete every read that is under way, once."""
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.reader.take(completion)
        return list(self.reader.take_finished())


def test_read_from_memory_ends_at_once() -> None:
    desk = Desk()
    desk.reader.start(7, hot())
    assert (desk.reader.is_due, len(desk.reader)) == (True, 0)
    assert desk.reader.take_finished() == [Finished(7, "at once")]
    assert desk.reader.take_finished() == []
    assert not desk.reader.is_due


def test_missing_bytes_are_read_in_the_background() -> None:
    desk = Desk()
    desk.reader.start(1, desk.cold(3, 4))
    assert (desk.paths, len(desk.reader)) == (["3"], 1)
    assert desk.complete() == []
    assert desk.paths == ["4"]
    assert desk.complete() == [Finished(1, b"333444")]


def test_completions_of_other_owners_are_rejected() -> None:
    desk = Desk()
    desk.reader.start(1, desk.cold(3))
    assert not desk.reader.take(Completion(999, b"xxx"))
    assert desk.complete() == [Finished(1, b"333")]


def test_disk_reads_are_bounded_and_in_order() -> None:
    desk = Desk(under_way_max=2)
    for number in range(5):
        desk.reader.start(number, desk.cold(number, 9))
    assert desk.paths == ["0", "1"]
    desk.complete()
    assert desk.paths == ["2", "3"]
    desk.complete()
    assert desk.paths == ["4", "9"]
    keys = [finished.key for _ in range(3) for finished in desk.complete()]
    assert keys == [0, 1, 2, 3, 4]


def test_file_is_looked_up_when_its_read_starts() -> None:
    desk = Desk(under_way_max=1)
    desk.reader.start(0, desk.cold(0))
    desk.reader.start(1, desk.cold(1))
    desk.reader.start(2, desk.patient(1))
    desk.disk.remove("1")
    first, gone, told = desk.complete()
    assert first == Finished(0, b"000")
    assert gone.error is not None
    assert str(gone.error) == "open 1: no such file"
    assert told == Finished(2, "NOT_FOUND")


def test_disk_error_is_thrown_into_its_task() -> None:
    desk = Desk()
    desk.reader.start(1, desk.patient(1))
    desk.reader.start(2, desk.cold(2))
    error = DiskError(DiskFailure.BROKEN, "read", "1")
    for job in desk.background.jobs:
        assert desk.reader.take(Completion(job.ticket, error=error))
    assert desk.reader.take_finished() == [Finished(1, "BROKEN"), Finished(2, error=error)]


def test_paused_tasks_continue_in_order() -> None:
    desk = Desk()
    for key in range(RESUMED_A_TURN + 1):
        desk.reader.start(key, resting(2))
    ended: list[list[int]] = []
    while desk.reader.is_due:
        desk.reader.turn()
        ended.append([finished.key for finished in desk.reader.take_finished()])
    assert ended == [[], [0, 1, 2], [3, 4]]


def test_corruption_is_a_result_and_a_defect_propagates() -> None:
    desk = Desk()
    error = CorruptionError("damaged")
    desk.reader.start(1, broken(error))
    assert desk.reader.take_finished() == [Finished(1, error=error)]
    with pytest.raises(ZeroDivisionError):
        desk.reader.start(2, broken(ZeroDivisionError()))


def test_two_tasks_cannot_share_a_key() -> None:
    desk = Desk()
    desk.reader.start(1, desk.cold(1))
    with pytest.raises(LocalError, match="key 1"):
        desk.reader.start(1, hot())


def test_cancelled_task_never_finishes() -> None:
    desk = Desk(under_way_max=1)
    closed: list[int] = []

    def noted(number: int) -> ReadTask[None]:
        try:
            yield desk.wanted(number) if number else None
        finally:
            closed.append(number)

    for number in (1, 2, 3, 0):
        desk.reader.start(number, noted(number))
    for number in (1, 2, 0):  # under way, waiting, resting
        desk.reader.cancel(number)
    desk.reader.cancel(77)
    assert closed == [1, 2, 0]
    assert desk.complete() == []
    desk.reader.turn()
    assert desk.paths == ["3"]
    assert desk.complete() == [Finished(3)]


def test_all_tasks_can_be_cancelled() -> None:
    desk = Desk(under_way_max=1)
    for number in range(3):
        desk.reader.start(number, desk.cold(number))
    desk.reader.cancel_all()
    assert len(desk.reader) == 0
    assert desk.complete() == []
    assert not desk.paths


def test_run_waits_for_the_disk() -> None:
    desk = Desk()
    assert run(hot()) == "at once"
    assert run(resting(3)) == 3
    assert run(desk.cold(1, 2)) == b"111222"
    desk.disk.remove("2")
    assert run(desk.patient(2)) == "NOT_FOUND"
    with pytest.raises(DiskError, match="no such file"):
        run(desk.cold(2))


def test_disk_error_is_thrown_into_the_task_of_run() -> None:
    desk = Desk()
    disk = FaultyDisk()
    disk.create("1").write(0, [b"1"])
    disk.fail("read", path="1", failure=DiskFailure.BROKEN)

    def reading() -> ReadTask[str]:
        try:
            yield Wanted(lambda: disk.open("1"), 0, 1)
        except DiskError:
            return (yield from desk.patient(1))
        return "never"

    assert run(reading()) == "read"
