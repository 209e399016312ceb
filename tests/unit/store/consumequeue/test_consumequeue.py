"""Tests one consume queue: append, read, cut, expiry and writes that fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue.consumequeue import Appended, ConsumeQueue
from gantrymq.store.consumequeue.queue_folder import PAGE_UNITS, AfterCrash, QueueFolders
from gantrymq.store.consumequeue.queue_unit import BLANK, UNIT, UNIT_BYTES
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

FILE_UNITS = 5
FOLDER = "consumequeue/T/0"


def queue_on(disk: MemoryDisk | FaultyDisk, *, is_clean: bool = True) -> ConsumeQueue:
    folders = QueueFolders(OpenFiles(disk, 2), "consumequeue", FILE_UNITS * UNIT_BYTES)
    queue = ConsumeQueue(folders, "T", 0)
    queue.open(None if is_clean else AfterCrash(1 << 60, lambda *_: True))
    return queue


def fill(queue: ConsumeQueue, end: int, begin: int = 0) -> None:
    """Record n is 100 bytes at n * 100."""
    for offset in range(begin, end):
        assert queue.append(offset, offset * 100, 100, -offset) is Appended.ADDED


def unit(offset: int) -> bytes:
    return UNIT.pack(offset * 100, 100, -offset)


def content(queue: ConsumeQueue) -> bytes:
    data = b""
    while part := queue.read(queue.start + len(data) // UNIT_BYTES, 1000):
        data += part
    return data


def names(disk: MemoryDisk | FaultyDisk) -> list[int]:
    return [int(entry.name) for entry in disk.list(FOLDER)]


def test_units_are_readable_at_once_and_nothing_is_written() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 7)
    assert queue.read(2, 3) == unit(2) + unit(3) + unit(4)
    assert queue.unit(6) == (600, 100, -6)
    assert not disk.list("")


def test_a_queue_without_new_units_has_no_tail() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 7)
    queue.write()
    assert queue.tail is None
    assert content(queue) == b"".join(map(unit, range(7)))


def test_known_unit_is_not_added_again() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 3)
    assert queue.append(1, 100, 100, 7) is Appended.KNOWN
    assert queue.append(7, 150, 50, 7) is Appended.KNOWN
    assert content(queue) == b"".join(map(unit, range(3)))


def test_newer_record_at_an_old_offset_reveals_a_false_unit() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 3)
    assert queue.append(2, 300, 100, 7) is Appended.GAP
    assert content(queue) == b"".join(map(unit, range(3)))


def test_append_with_a_gap_changes_nothing() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 3)
    assert queue.append(4, 400, 100, 0) is Appended.GAP
    assert queue.end == 3


def test_queue_with_a_late_first_offset_begins_with_blanks() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 14, 12)
    queue.write()
    assert names(disk) == [10 * UNIT_BYTES]
    assert content(queue) == BLANK * 2 + unit(12) + unit(13)
    assert (queue.start, queue.minimum, queue.end) == (10, 12, 14)


def test_blanks_stay_invisible_after_a_restart() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 14, 12)
    queue.write()
    again = queue_on(disk)
    again.correct_minimum(0)
    assert (again.minimum, again.end, again.physical_end) == (12, 14, 1400)


def test_read_ends_with_its_file_or_continues_in_memory() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 7)
    queue.write()
    fill(queue, 9, 7)
    assert queue.read(3, 100) == unit(3) + unit(4)
    assert queue.read(5, 100) == b"".join(map(unit, range(5, 9)))
    assert queue.read(9, 1) == b""
    assert queue.read(-1, 1) == b""
    assert queue.read(3, 0) == b""


def test_cold_units_are_read_in_the_background() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 7)
    queue.write()
    disk.cool()
    assert queue.read(1, 2) is None
    background = MemoryBackground(disk)
    ticket = queue.request(background, 1, 100)
    background.complete(ticket)
    (completion,) = background.take_completions()
    assert completion.data == b"".join(map(unit, range(1, 5)))


def test_sequential_read_reads_a_page_ahead() -> None:
    disk = MemoryDisk()
    folders = QueueFolders(OpenFiles(disk), "consumequeue", 1000 * UNIT_BYTES)
    queue = ConsumeQueue(folders, "T", 0)
    queue.open()
    fill(queue, 500)
    queue.write()
    assert queue.read(0, 10) == b"".join(map(unit, range(10)))
    disk.reads_cached = False
    assert queue.read(10, 10) is None  # one step may be the only one
    disk.reads_cached = True
    assert queue.read(10, 10) == b"".join(map(unit, range(10, 20)))
    disk.reads_cached = False
    end = 10 + PAGE_UNITS
    assert queue.read(20, end - 20) == b"".join(map(unit, range(20, end)))
    assert queue.read(end - 1, 2) is None
    assert queue.read(9, 2) is None


@pytest.mark.parametrize("end", [3, 4])
def test_removed_units_are_not_cached(end: int) -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 5)
    queue.write()
    assert (queue.read(0, 1), queue.read(1, 1)) == (unit(0), unit(1))
    assert queue.read(2, 3) == b"".join(map(unit, range(2, 5)))
    queue.cut(end)
    for offset in range(end, 5):
        assert queue.append(offset, 1000 + offset, 1, 7) is Appended.ADDED
    queue.write()
    assert queue.read(4, 1) == UNIT.pack(1004, 1, 7)


@pytest.mark.parametrize("end", [0, 1, 4, 5, 6, 10, 12])
@pytest.mark.parametrize("written", [0, 3, 8, 12])
def test_cut_wipes_the_units_behind_it(end: int, written: int) -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, written)
    queue.write()
    fill(queue, 12, written)
    queue.cut(end)
    queue.write()
    assert content(queue) == b"".join(map(unit, range(end)))
    assert queue.physical_end == end * 100
    kept = max(names(disk), default=-1)
    assert kept < end * UNIT_BYTES
    assert content(queue_on(disk, is_clean=False)) == content(queue)


def test_cut_to_the_log_removes_units_of_lost_records() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 12)
    assert queue.end_in_log(1200) == 12
    assert queue.end_in_log(1101) == 12  # the last record begins below
    queue.cut(queue.end_in_log(650))
    assert queue.end == 7
    fill(queue, 9, 7)
    assert queue.end == 9


def test_minimum_follows_the_start_of_the_log() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 12)
    for log_minimum, minimum in [(0, 0), (100, 1), (101, 2), (1100, 11), (1200, 12), (9999, 12)]:
        queue.correct_minimum(log_minimum)
        assert queue.minimum == minimum
    assert queue.append(12, 10_000, 1, 0) is Appended.ADDED
    queue.correct_minimum(9999)
    assert queue.minimum == 12


def test_minimum_is_searched_on_demand() -> None:
    disk = FaultyDisk()
    queue = queue_on(disk)
    fill(queue, 12)
    queue.write()
    queue.folders.log_minimum = 650
    disk.fail("read")
    with pytest.raises(DiskError):
        assert queue.minimum
    assert queue.minimum == 7
    disk.fail("read")
    assert queue.minimum == 7  # known
    queue.folders.log_minimum = 1200
    assert queue.minimum == 12


def test_units_of_records_that_are_not_on_disk_stay_in_memory() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 7)
    for flushed, written in [(0, 0), (99, 1), (300, 3), (650, 7), (700, 7)]:
        queue.folders.log_flushed = flushed
        queue.write()
        assert queue.written == written
        assert b"".join(queue.unit(n)[0].to_bytes(8, "big") for n in range(7))
    assert queue.tail is None


def test_restored_queue_equals_the_saved_one() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 14, 12)
    queue.folders.log_minimum = 1250
    queue.write()
    assert queue.minimum == 13
    again = ConsumeQueue(queue.folders, "T", 0)
    again.restore(queue.state())
    assert again.is_open
    assert again.state() == queue.state()
    assert content(again) == content(queue)
    fill(again, 17, 14)
    again.write()
    assert content(queue_on(disk)) == BLANK * 2 + b"".join(map(unit, range(12, 17)))


def test_files_expire_with_their_last_record_and_the_last_file_stays() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 10)
    queue.write()
    assert queue.expired_file(400) == ""
    assert queue.expired_file(401) == f"{FOLDER}/{0:020d}"
    assert (queue.start, queue.minimum) == (5, 5)
    assert queue.expired_file(1 << 40) == ""
    disk.remove(f"{FOLDER}/{0:020d}")
    assert content(queue_on(disk)) == b"".join(map(unit, range(5, 10)))


def test_a_cleared_queue_may_begin_anywhere() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 12)
    queue.write()
    queue.clear()
    assert names(disk) == []
    assert (queue.start, queue.end, queue.physical_end) == (0, 0, 0)
    fill(queue, 24, 22)
    queue.write()
    assert names(disk) == [20 * UNIT_BYTES]


def test_a_full_disk_loses_nothing_and_the_write_can_be_repeated() -> None:
    disk = FaultyDisk()
    queue = queue_on(disk)
    fill(queue, 12)
    for operation in ("create", "resize", "write", "make_folder"):
        disk.fail(operation, DiskFailure.NO_SPACE)
        with pytest.raises(DiskError, match="no space"):
            queue.write()
        assert queue.unit(11) == (1100, 100, -11)
    queue.write()
    assert content(queue_on(disk)) == b"".join(map(unit, range(12)))


def test_file_shortened_by_another_program_is_corruption() -> None:
    disk = MemoryDisk()
    queue = queue_on(disk)
    fill(queue, 3)
    queue.write()
    disk.open(f"{FOLDER}/{0:020d}").resize(30)
    with pytest.raises(CorruptionError, match="was cut before unit 2"):
        queue.unit(2)


def test_request_of_missing_units_is_a_defect() -> None:
    queue = queue_on(MemoryDisk())
    fill(queue, 3)
    with pytest.raises(LocalError, match="has no unit 3"):
        queue.unit(3)
    with pytest.raises(LocalError, match="has no unit 0"):
        queue.request(MemoryBackground(MemoryDisk()), 0, 1)  # it is in memory
    with pytest.raises(LocalError, match="cannot end at 4"):
        queue.cut(4)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "repeat", "write", "cut", "log", "expire", "reopen", "minimum"]),
        st.integers(0, 12),
    ),
    max_size=40,
)


class Model:
    """The naive queue: a dictionary, and where it begins."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.queue = queue_on(self.disk)
        self.units: dict[int, bytes] = {}
        self.end = 0
        self.start = 0
        self.log_minimum = 0

    def append(self, count: int) -> None:
        fill(self.queue, self.end + count, self.end)
        self.units |= {n: unit(n) for n in range(self.end, self.end + count)}
        self.end += count

    def repeat(self, count: int) -> None:
        for offset in range(max(self.start, self.end - count), self.end):
            assert self.queue.append(offset, offset * 100, 100, 0) is Appended.KNOWN

    def write(self, _: int) -> None:
        self.queue.write()

    def cut(self, count: int) -> None:
        self.end = max(self.start, self.end - count)
        self.queue.cut(self.end)

    def log(self, count: int) -> None:
        self.end = max(self.start, self.end - count)
        self.queue.cut(self.queue.end_in_log(self.end * 100))

    def expire(self, count: int) -> None:
        self.queue.write()
        self.log_minimum = max(self.log_minimum, (self.start + count) * 100)
        path = self.queue.expired_file(self.log_minimum)
        is_expired = self.log_minimum >= (self.start + FILE_UNITS) * 100
        if is_expired and self.end > self.start + FILE_UNITS:
            assert int(path[-20:]) == self.start * UNIT_BYTES
            self.disk.remove(path)
            self.start += FILE_UNITS
        else:
            assert path == ""

    def reopen(self, is_clean: int) -> None:
        self.queue.write()
        self.queue = queue_on(self.disk, is_clean=bool(is_clean % 2))
        if self.end == self.start:
            self.queue.clear()
            self.start = self.end = 0

    def minimum(self, count: int) -> None:
        self.log_minimum = max(self.log_minimum, (self.start + count) * 100)
        self.queue.correct_minimum(self.log_minimum)
        wanted = min(self.end, max(self.start, self.log_minimum // 100))
        assert self.queue.minimum == wanted


@given(STEPS)
def test_any_history_equals_a_list(steps: list[tuple[str, int]]) -> None:
    model = Model()
    for step, count in steps:
        getattr(model, step)(count)
        if model.end > model.start:
            assert (model.queue.start, model.queue.end) == (model.start, model.end)
        wanted = b"".join([model.units[n] for n in range(model.start, model.end)])
        assert content(model.queue) == wanted
