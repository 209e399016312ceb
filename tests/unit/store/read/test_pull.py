"""Tests pulls: their statuses, the limits of an answer, and damage."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.read.async_reader import AsyncReader, ReadTask, Wanted
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_batch import UNITS_MAX
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.store.read.pull_units import GAP_BYTES, RECENT_GAP_BYTES
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record, decode_all

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
LOG_FILE_BYTES = 4096
QUEUE_FILE_UNITS = 20
SETTINGS = StoreSettings(mapped_file_size_commit_log=LOG_FILE_BYTES)
MEMORY_BYTES = 1 << 40
OVERHEAD_BYTES = 92  # of a message in a topic of one letter

T = TypeVar("T")


class Store:
    """Log and queues of topic T; `readable` is the log's end unless it is set."""

    def __init__(self, settings: StoreSettings = SETTINGS, tail_bytes: int = 1 << 20) -> None:
        self.disk = MemoryDisk()
        self.background = MemoryBackground(self.disk)
        self.settings = settings
        self.log = CommitLog(self.disk, self.background, settings, tail_bytes=tail_bytes)
        self.log.load()
        self.log.resume(LogPosition())
        self.queues = Queues(self.disk, QUEUE_FILE_UNITS * 20)
        self.queues.load(0)
        self.index = Index(self.disk, IndexSizes(10, 10), lambda: "1")
        self.unreadable_bytes = 0

    @property
    def readable(self) -> int:
        return self.log.end - self.unreadable_bytes

    def put(self, queue_id: int, body: bytes, tags_code: int = 0) -> int:
        """Store the message; return its log position."""
        queue = self.queues.find("T", queue_id)
        offset = 0 if queue is None else queue.end
        message = Record(
            b"T", body, queue_id=queue_id, queue_offset=offset, born_host=HOST, store_host=HOST
        )
        arena = self.log.start_group(1000 + self.log.end)
        arena.add(message)
        assert self.log.write(arena, 0.0) is None
        position = message.physical_offset
        self.queues.append("T", queue_id, offset, position, message.size, tags_code)
        return position

    def cool(self) -> None:
        """Drop everything from the memory, on a disk that does not tell what it has cached."""
        for queue in self.queues.queues():
            self.queues.write(queue)
        self.log._tail.clear()
        self.disk.reads_cached = False

    def remove_log_file(self) -> None:
        assert self.log.remove_first()
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.log.take(completion, 0.0)

    def finish(self, reading: ReadTask[T]) -> T:
        """Run the task by completions and turns; return its result or raise its error."""
        background = MemoryBackground(self.disk)
        readings = AsyncReader(background)
        readings.start(1, reading)
        while not (finished := readings.take_finished()):
            background.complete_all()
            for completion in background.take_completions():
                assert readings.take(completion)
            readings.turn()
        if finished[0].error is not None:
            raise finished[0].error
        result: T = finished[0].result  # type: ignore[assignment]  # the result of this reading
        return result

    def pull(
        self, offset: int, count_max: int = 32, memory_bytes: int = MEMORY_BYTES, queue_id: int = 0
    ) -> Pulled:
        query = PullQuery("T", queue_id, offset, count_max)
        return self.finish(pull(self, query, memory_bytes))


def filled(count: int, body_bytes: int = 100, settings: StoreSettings = SETTINGS) -> Store:
    """Messages 0, 1, 2... of queue 0, each of which begins with its number."""
    store = Store(settings)
    for number in range(count):
        store.put(0, b"%d " % number + bytes(body_bytes - len(str(number)) - 1))
    return store


def place(store: Store, offset: int) -> int:
    """The log position of this message of queue 0."""
    queue = store.queues.find("T", 0)
    assert queue is not None
    return queue.unit(offset)[0]


def at_once(reading: ReadTask[T]) -> T:
    """The result of a task that never waits."""
    try:
        next(reading)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("it waits, or rests")


def numbers(pulled: Pulled) -> list[int]:
    """The numbers of the messages of an answer; its figures must be correct."""
    records = decode_all(b"".join(pulled.chunks))
    assert (pulled.count, pulled.size) == (len(records), sum(map(len, pulled.chunks)))
    assert (pulled.status is PullStatus.FOUND) == bool(records)
    return [record.queue_offset for record in records]


def outcome(pulled: Pulled) -> tuple[PullStatus, int, int, int]:
    return pulled.status, pulled.next_offset, pulled.minimum, pulled.maximum


def everything(pulled: Pulled) -> tuple[object, ...]:
    """The whole answer, with the chunks joined: their number does not matter."""
    records = b"".join(pulled.chunks)
    return *outcome(pulled), records, pulled.count, pulled.size, pulled.suggests_slave


def test_pull_of_a_missing_or_empty_queue() -> None:
    store = filled(1)
    assert outcome(store.pull(5, queue_id=1)) == (PullStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
    store.unreadable_bytes = store.log.end
    assert outcome(store.pull(5)) == (PullStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)


def test_offset_outside_of_the_queue_is_corrected() -> None:
    store = filled(60)
    store.remove_log_file()
    store.queues.raise_minimum(store.log.start)
    minimum = 4096 // 192
    assert outcome(store.pull(3)) == (PullStatus.OFFSET_TOO_SMALL, minimum, minimum, 60)
    assert outcome(store.pull(-1)) == (PullStatus.OFFSET_TOO_SMALL, minimum, minimum, 60)
    assert outcome(store.pull(60)) == (PullStatus.OFFSET_OVERFLOW_ONE, 60, minimum, 60)
    assert outcome(store.pull(61)) == (PullStatus.OFFSET_OVERFLOW_BADLY, 60, minimum, 60)
    assert outcome(store.pull(minimum, 1)) == (PullStatus.FOUND, minimum + 1, minimum, 60)


def test_slave_does_not_correct_offsets() -> None:
    store = filled(60)
    store.remove_log_file()
    store.queues.raise_minimum(store.log.start)
    for offset in (3, 60, 61):
        query = PullQuery("T", 0, offset, 32, keeps_offset=True)
        assert at_once(pull(store, query, MEMORY_BYTES)).next_offset == offset
    for offset in (3, 60, 61):
        query = PullQuery("T", 9, offset, 32, keeps_offset=True)
        assert at_once(pull(store, query, MEMORY_BYTES)).next_offset == offset
    query = PullQuery("T", 0, 30, 32, keeps_offset=True)
    assert at_once(pull(store, query, MEMORY_BYTES)).next_offset == 60


def test_neighbouring_records_are_one_chunk() -> None:
    store = filled(20)
    pulled = at_once(pull(store, PullQuery("T", 0, 3, 10), MEMORY_BYTES))
    assert numbers(pulled) == list(range(3, 13))
    assert len(pulled.chunks) == 1
    assert pulled.chunks[0] == store.log.read(3 * 192, 10 * 192)


def test_records_between_those_of_other_queues_are_returned() -> None:
    store = Store()
    for number in range(30):
        for queue_id in range(3):
            store.put(queue_id, b"%d of %d" % (number, queue_id))
    pulled = at_once(pull(store, PullQuery("T", 1, 0, 32), MEMORY_BYTES))
    assert [record.body for record in decode_all(b"".join(pulled.chunks))] == [
        b"%d of 1" % number for number in range(30)
    ]


@pytest.mark.parametrize("between", [RECENT_GAP_BYTES - 100, RECENT_GAP_BYTES])
def test_recent_messages_are_found_on_both_sides_of_the_gap_limit(between: int) -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 20))
    for number in range(30):
        store.put(0, b"ours %d" % number)
        store.put(1, bytes(between))
    pulled = at_once(pull(store, PullQuery("T", 0, 3, 20), MEMORY_BYTES))
    assert [record.body for record in decode_all(b"".join(pulled.chunks))] == [
        b"ours %d" % number for number in range(3, 23)
    ]
    assert pulled.size == sum(map(len, pulled.chunks))


@pytest.mark.parametrize("block_bytes", [1000, 4096, 10_000])
def test_queues_that_are_read_side_by_side_share_blocks(block_bytes: int) -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 20), tail_bytes=0)
    store.log._blocks.block_bytes = block_bytes
    for number in range(60):
        for queue_id in range(8):
            store.put(queue_id, b"%d of %d" % (number, queue_id) + bytes(queue_id))

    def bodies(queue_id: int) -> list[bytes]:
        pulled = at_once(pull(store, PullQuery("T", queue_id, 0, 32), MEMORY_BYTES))
        assert pulled.size == sum(map(len, pulled.chunks))
        return [record.body for record in decode_all(b"".join(pulled.chunks))]

    for queue_id in range(8):
        assert bodies(queue_id) == [
            b"%d of %d" % (number, queue_id) + bytes(queue_id) for number in range(32)
        ]
    first_end = place(store, 5) + 100
    kept = [start for start in store.log._blocks._blocks if start < first_end]
    assert kept


def test_single_pull_reads_no_block() -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 20), tail_bytes=0)
    for _ in range(40):
        store.put(0, b"ours")
        store.put(1, bytes(GAP_BYTES))
    store.log._blocks.block_bytes = 1 << 18
    assert at_once(pull(store, PullQuery("T", 0, 0, 32), MEMORY_BYTES)).count == 32
    assert not store.log._blocks._blocks


def test_damage_in_a_block_ends_the_answer_before_it() -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 20), tail_bytes=0)
    store.log._blocks.block_bytes = 1000
    for number in range(40):
        store.put(0, b"%d" % number)
    position = place(store, 9)
    store.disk.open("commitlog/" + "0" * 20).write(position + 4, [b"bad!"])
    for _ in range(4):
        assert numbers(store.pull(0)) == list(range(9))
    assert store.log._blocks.find(0) is not None
    with pytest.raises(CorruptionError, match="message 9 of queue 0 of topic T is damaged"):
        store.pull(9)


def test_gap_between_distant_records_is_not_read() -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 20))
    for _ in range(3):
        store.put(0, b"ours")
        store.put(1, bytes(GAP_BYTES - 100))
        store.put(0, b"ours")
        store.put(1, bytes(GAP_BYTES))
    store.log._tail.clear()
    store.disk.reads_cached = False
    reading = pull(store, PullQuery("T", 0, 0, 32), MEMORY_BYTES)
    asked: list[int] = []
    with suppress(StopIteration):
        wanted = next(reading)
        while isinstance(wanted, Wanted):
            asked.append(wanted.size)
            wanted = reading.send(wanted.file().read(wanted.position, wanted.size))
    assert asked == [GAP_BYTES - 100 + 92 + 2 * 96] * 3


@pytest.mark.parametrize(
    ("asked", "given"), [(-5, 1), (0, 1), (1, 1), (31, 31), (32, 32), (99, 32)]
)
def test_recent_messages_are_limited_in_number(asked: int, given: int) -> None:
    assert numbers(filled(80).pull(2, asked)) == list(range(2, 2 + given))


@pytest.mark.parametrize(("limit", "given"), [(1, 1), (192 * 5 - 1, 4), (192 * 5, 5)])
def test_recent_messages_are_limited_in_bytes(limit: int, given: int) -> None:
    settings = replace(SETTINGS, max_transfer_bytes_on_message_in_memory=limit)
    pulled = filled(30, settings=settings).pull(0)
    assert (numbers(pulled), pulled.next_offset) == (list(range(given)), given)


def test_cold_messages_have_lower_limits() -> None:
    settings = replace(SETTINGS, access_message_in_memory_max_ratio=50)
    store = filled(50, settings=settings)
    behind_20 = store.log.end - place(store, 30)
    assert numbers(store.pull(0, memory_bytes=2 * behind_20)) == list(range(8))
    # From the first recent one on the wider limits hold, on what was found before as well.
    assert numbers(store.pull(22, memory_bytes=2 * behind_20)) == list(range(22, 50))
    less = replace(settings, max_transfer_bytes_on_message_in_disk=3 * 192)
    store = filled(50, settings=less)
    assert numbers(store.pull(0, memory_bytes=2 * behind_20)) == [0, 1, 2]


def test_consumer_far_behind_gets_a_slave_suggested() -> None:
    settings = replace(SETTINGS, access_message_in_memory_max_ratio=50)
    store = filled(20, settings=settings)
    behind = store.log.end - 7 * 192  # message 7 is the last one looked at
    for memory_bytes, suggested in ((2 * behind, False), (2 * behind - 2, True)):
        assert store.pull(0, 8, memory_bytes).suggests_slave is suggested
    assert not store.pull(20, 8, 0).suggests_slave


@pytest.mark.parametrize("is_cold", [False, True])
def test_units_above_the_readable_position_are_hidden(*, is_cold: bool) -> None:
    store = filled(50)
    if is_cold:
        store.cool()
    for maximum in range(1, 51):
        store.unreadable_bytes = 0 if maximum == 50 else store.log.end - place(store, maximum)
        assert store.pull(0).maximum == maximum
        assert outcome(store.pull(maximum))[0] is PullStatus.OFFSET_OVERFLOW_ONE
        assert outcome(store.pull(maximum - 1)) == (PullStatus.FOUND, maximum, 0, maximum)
        assert outcome(store.pull(51))[:2] == (PullStatus.OFFSET_OVERFLOW_BADLY, maximum)


def test_tag_filter_uses_the_unit_alone() -> None:
    store = Store()
    for number in range(10):
        store.put(0, b"x", tags_code=number % 3)
    query = PullQuery("T", 0, 1, 2, tags=frozenset({0}).__contains__)
    pulled = at_once(pull(store, query, MEMORY_BYTES))
    assert (numbers(pulled), pulled.next_offset) == ([3, 6], 7)
    query.offset = 7
    assert (numbers(at_once(pull(store, query, MEMORY_BYTES)))) == [9]
    query.tags = frozenset({5}).__contains__
    assert outcome(at_once(pull(store, query, MEMORY_BYTES))) == (
        PullStatus.NO_MATCHED_MESSAGE,
        10,
        0,
        10,
    )


def test_record_filter_gets_decoded_records() -> None:
    store = filled(20)
    seen: list[int] = []

    def matches(record: Record) -> bool:
        seen.append(record.queue_offset)
        return record.body.startswith((b"3 ", b"7 ", b"11 "))

    query = PullQuery("T", 0, 1, 2, matches=matches)
    pulled = store.finish(pull(store, query, MEMORY_BYTES))
    assert (numbers(pulled), pulled.next_offset) == ([3, 7], 8)
    query.offset = 12
    assert store.finish(pull(store, query, MEMORY_BYTES)).status is PullStatus.NO_MATCHED_MESSAGE
    assert seen == [*range(1, 8), *range(12, 20)]


@pytest.mark.parametrize("filters", [0, 1])
def test_pull_reads_a_bounded_number_of_units(filters: int) -> None:
    store = filled(UNITS_MAX + 50, 10, replace(SETTINGS, mapped_file_size_commit_log=1 << 20))
    query = PullQuery("T", 0, 7, 32)
    if filters:
        query.matches = lambda _record: False
    else:
        query.tags = lambda _code: False
    pulled = store.finish(pull(store, query, MEMORY_BYTES))
    assert outcome(pulled) == (PullStatus.NO_MATCHED_MESSAGE, 7 + UNITS_MAX, 0, UNITS_MAX + 50)
    query.count_max = UNITS_MAX + 20
    assert store.finish(pull(store, query, MEMORY_BYTES)).next_offset == 7 + UNITS_MAX + 20


def test_long_pull_pauses_between_pieces() -> None:
    store = filled(100)
    query = PullQuery("T", 0, 0, 32, matches=lambda record: record.queue_offset % 3 == 0)
    steps = list(pull(store, query, MEMORY_BYTES))
    assert steps == [None] * len(steps)
    assert len(steps) > 2
    query.count_max = 1
    assert list(pull(store, query, MEMORY_BYTES)) == []


def test_deleted_records_are_skipped() -> None:
    store = Store()
    store.put(1, b"alone")
    for _ in range(60):
        store.put(0, bytes(100))
    store.remove_log_file()  # and the queues have not been told yet
    assert outcome(store.pull(0, queue_id=1)) == (PullStatus.MESSAGE_WAS_REMOVING, 1, 0, 1)
    pulled = store.pull(3, 5)
    assert (numbers(pulled), pulled.next_offset) == ([20, 21, 22, 23, 24], 25)


def test_records_deleted_during_the_pull_are_skipped() -> None:
    store = filled(60)
    store.log._tail.clear()
    store.disk.reads_cached = False
    background = MemoryBackground(store.disk)
    readings = AsyncReader(background, under_way_max=1)
    for key in (1, 2):
        readings.start(key, pull(store, PullQuery("T", 0, 10, 15), MEMORY_BYTES))
    store.remove_log_file()  # the second one has not been asked for
    answers: list[Pulled] = []
    while len(answers) < 2:
        background.complete_all()
        for completion in background.take_completions():
            assert readings.take(completion)
        for finished in readings.take_finished():
            assert isinstance(finished.result, Pulled)
            answers.append(finished.result)
    in_time, too_late = answers
    assert numbers(in_time) == list(range(10, 25))
    assert (numbers(too_late), too_late.next_offset) == (list(range(21, 36)), 36)


def test_missing_file_of_the_queue_continues_at_the_next() -> None:
    store = filled(60)
    for queue in store.queues.queues():
        store.queues.write(queue)
    store.queues.close()
    store.disk.remove("consumequeue/T/0/00000000000000000400")
    assert outcome(store.pull(25)) == (PullStatus.OFFSET_FOUND_NULL, 40, 0, 60)
    query = PullQuery("T", 0, 25, 32, keeps_offset=True)
    assert store.finish(pull(store, query, MEMORY_BYTES)).next_offset == 25
    assert numbers(store.pull(15, 32)) == [15, 16, 17, 18, 19]
    assert numbers(store.pull(40, 32)) == list(range(40, 60))


def damage(store: Store, position: int, data: bytes) -> None:
    path = store.log.segments.path_of(position)
    store.disk.open(path).write(position % LOG_FILE_BYTES, [data])
    store.log._tail.clear()


@pytest.mark.parametrize("field", [0, 4, 28])
def test_a_damaged_record_ends_the_answer_before_it(field: int) -> None:
    store = filled(40)  # the files' border ends a piece
    damage(store, 5 * 192 + field, b"\x01\x02\x03\x04")
    pulled = store.pull(2)
    assert (numbers(pulled), pulled.next_offset) == ([2, 3, 4], 5)
    with pytest.raises(CorruptionError, match=r"message 5 of queue 0 of topic T.*offset to 6"):
        store.pull(5)
    assert numbers(store.pull(6)) == list(range(6, 38))


def test_damaged_body_is_returned_to_the_consumer() -> None:
    store = filled(3)
    damage(store, 192 + 100, b"\x01")
    assert store.pull(0).count == 3


def test_a_damaged_record_counts_only_when_it_is_reached() -> None:
    store = filled(20)
    damage(store, 5 * 192 + 84, b"\x7f")  # the body's length
    query = PullQuery("T", 0, 2, 32, matches=lambda record: record.queue_offset > 9)
    pulled = store.finish(pull(store, query, MEMORY_BYTES))
    assert outcome(pulled)[:2] == (PullStatus.NO_MATCHED_MESSAGE, 5)
    query.offset = 5
    with pytest.raises(CorruptionError, match="body length"):
        store.finish(pull(store, query, MEMORY_BYTES))


@pytest.mark.parametrize(
    "unit",
    [
        bytes(20),
        b"\xff" * 20,
        b"\0\0\0\0\0\0\0\0\x7f\xff\xff\xff" + bytes(8),
        b"\0\0\0\0\0\0\xff\x00\0\0\0\xc0" + bytes(8),
        b"\0\0\0\0\0\0\0\x07\0\0\0\xc0" + bytes(8),
    ],
)
def test_damaged_unit_never_returns_other_bytes(unit: bytes) -> None:
    store = filled(20)
    for queue in store.queues.queues():
        store.queues.write(queue)
    store.disk.open("consumequeue/T/0/00000000000000000000").write(5 * 20, [unit])
    pulled = store.pull(2)
    assert (numbers(pulled), pulled.next_offset) == ([2, 3, 4], 5)
    with pytest.raises(CorruptionError, match="message 5 of queue 0"):
        store.pull(5)
    assert numbers(store.pull(6, 3)) == [6, 7, 8]


def test_impossible_length_is_not_read() -> None:
    store = filled(20, settings=replace(SETTINGS, mapped_file_size_commit_log=1 << 26))
    store.cool()
    store.log.end = 1 << 26
    file = store.disk.open("consumequeue/T/0/00000000000000000000")
    for position, size in ((19 * 192, 1 << 25), (store.log.end - 10, 10), (0, 0)):
        file.write(19 * 20, [position.to_bytes(8, "big") + size.to_bytes(4, "big")])
        with pytest.raises(CorruptionError, match=f"unit says {size} bytes at {position}"):
            store.pull(19)


def test_files_shortened_by_another_program_are_damage() -> None:
    store = filled(20)
    store.cool()
    store.disk.open("commitlog/00000000000000000000").resize(5 * 192 + 50)
    assert numbers(store.pull(2)) == [2, 3, 4]
    with pytest.raises(CorruptionError, match="ends before"):
        store.pull(5)
    store.disk.open("consumequeue/T/0/00000000000000000000").resize(4 * 20 + 7)
    assert numbers(store.pull(2)) == [2, 3]
    with pytest.raises(CorruptionError, match="the queue's file ends"):
        store.pull(4)


@dataclass(frozen=True)
class Put:
    queue_id: int
    body_bytes: int
    tags_code: int


PUTS = st.lists(
    st.builds(Put, st.integers(0, 2), st.integers(1, 900), st.integers(0, 2)),
    min_size=1,
    max_size=60,
)


@given(
    PUTS,
    st.integers(0, 40),
    st.integers(0, 40),
    st.none() | st.frozensets(st.integers(0, 2)),
    st.none() | st.integers(1, 900),
    st.integers(0, 40_000),
)
def test_hot_and_cold_answers_equal_a_linear_search(
    puts: list[Put],
    offset: int,
    count_max: int,
    tags: frozenset[int] | None,
    body_bytes_min: int | None,
    memory_bytes: int,
) -> None:
    settings = replace(
        SETTINGS,
        access_message_in_memory_max_ratio=100,
        max_transfer_bytes_on_message_in_memory=6000,
        max_transfer_bytes_on_message_in_disk=2000,
        max_transfer_count_on_message_in_memory=12,
        max_transfer_count_on_message_in_disk=4,
    )
    store = Store(settings)
    positions = [store.put(each.queue_id, bytes(each.body_bytes), each.tags_code) for each in puts]
    units = [pair for pair in zip(puts, positions, strict=True) if pair[0].queue_id == 0]
    query = PullQuery("T", 0, offset, count_max)
    if tags is not None:
        query.tags = tags.__contains__
    if body_bytes_min is not None:
        query.matches = lambda record: len(record.body) >= body_bytes_min
    found: list[int] = []
    total = 0
    behind = offset
    for number, (each, position) in enumerate(units[offset:], offset):
        size = each.body_bytes + OVERHEAD_BYTES
        is_cold = store.log.end - position > memory_bytes
        limits = (2000, 4) if is_cold else (6000, 12)
        if found and (len(found) >= min(count_max, limits[1]) or total + size > limits[0]):
            break
        behind = number + 1
        if tags is not None and each.tags_code not in tags:
            continue
        if body_bytes_min is not None and each.body_bytes < body_bytes_min:
            continue
        found.append(number)
        total += size
    hot = store.finish(pull(store, query, memory_bytes))
    assert numbers(hot) == found
    if offset < len(units):
        assert hot.next_offset == behind
    store.cool()
    assert everything(store.finish(pull(store, query, memory_bytes))) == everything(hot)
