"""Tests lookups of single messages and figures on any input."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.read import lookups
from gantrymq.store.read.async_reader import AsyncReader, ReadTask, Wanted
from gantrymq.store.read.lookups import Bounds, StoredMessage
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import offset_id, properties
from gantrymq.wire.message.record import Record, encode

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
LOG_FILE_BYTES = 8192
SETTINGS = StoreSettings(mapped_file_size_commit_log=LOG_FILE_BYTES)
EVER = (0, 1 << 60)

T = TypeVar("T")


class Store:
    """Log, queues and index; message number n, from 1 on, is stored at 1000 * n ms."""

    def __init__(self, settings: StoreSettings = SETTINGS) -> None:
        self.disk = MemoryDisk()
        self.background = MemoryBackground(self.disk)
        self.settings = settings
        self.log = CommitLog(self.disk, self.background, settings)
        self.log.load()
        self.log.resume(LogPosition())
        self.queues = Queues(self.disk, 400)
        self.queues.load(0)
        self.index = Index(self.disk, IndexSizes(5, 1000), map(str, count(10)).__next__)
        self.index.load(is_clean=True, flushed_ms=0)
        self.readable = 0
        self.records: list[Record] = []

    def put(
        self, body: bytes = b"body", topic: str = "T", queue_id: int = 0, **named: str
    ) -> StoredMessage:
        """Store a message with these properties."""
        queue = self.queues.find(topic, queue_id)
        record = Record(
            topic.encode(),
            body,
            properties=properties.encode(named),
            queue_id=queue_id,
            queue_offset=0 if queue is None else queue.end,
            born_host=HOST,
            store_host=HOST,
        )
        arena = self.log.start_group(1000 * len(self.records) + 1000)
        arena.add(record)
        assert self.log.write(arena, 0.0) is None
        place, stored_ms = record.physical_offset, record.store_timestamp_ms
        self.queues.append(topic, queue_id, record.queue_offset, place, record.size, 0)
        keys = named.get("UNIQ_KEY", "").encode(), named.get("KEYS", "").encode()
        self.index.put(record.topic, *keys, place, stored_ms)
        self.readable = self.log.end
        self.records.append(record)
        return StoredMessage(record, encode(record))

    def cool(self) -> None:
        """Drop log and queues from the memory."""
        for queue in self.queues.queues():
            self.queues.write(queue)
        self.log._tail.clear()
        self.disk.reads_cached = False

    def remove_log_file(self) -> None:
        assert self.log.remove_first()
        self.queues.raise_minimum(self.log.start)

    def finish(self, reading: ReadTask[T]) -> T:
        background = MemoryBackground(self.disk)
        readings = AsyncReader(background)
        readings.start(1, reading)
        while not (finished := readings.take_finished()):
            background.complete_all()
            for completion in background.take_completions():
                assert readings.take(completion)
            readings.turn()
        assert finished[0].error is None
        result: T = finished[0].result  # type: ignore[assignment]  # the result of this reading
        return result

    def at(self, position: int) -> StoredMessage | None:
        return self.finish(lookups.message_at(self, position))

    def by_key(
        self, key: str, *, topic: str = "T", count_max: int = 64, times: tuple[int, int] = EVER
    ) -> list[int]:
        """The store times of the messages found by this key."""
        answer = self.finish(lookups.messages_by_key(self, topic, key, count_max, *times))
        assert [encode(each.record) for each in answer.messages] == [
            each.data for each in answer.messages
        ]
        return [each.record.store_timestamp_ms for each in answer.messages]


# ---------------------------------------------------------------------- by position and id


@pytest.mark.parametrize("is_cold", [False, True])
def test_message_is_found_only_where_a_record_begins(*, is_cold: bool) -> None:
    store = Store()
    expected = {
        message.record.physical_offset: message
        for message in [store.put(bytes(size)) for size in (1, 5000, 4000, 10, 7000)]
    }
    assert store.log.end > 2 * LOG_FILE_BYTES  # with blanks between
    if is_cold:
        store.cool()
    for position in [*range(-1, store.log.end, 7), *expected, store.log.end, 1 << 62]:
        assert store.at(position) == expected.get(position)


def test_forged_record_in_a_body_is_not_returned() -> None:
    store = Store()
    at = store.put().record.size
    inside = at + 88  # where the body of the next message will begin
    forged = Record(
        b"T", b"forged", physical_offset=inside, queue_offset=1, born_host=HOST, store_host=HOST
    )
    message = store.put(encode(forged))
    assert message.data[88:].startswith(encode(forged))
    assert store.at(at) == message
    assert store.at(inside) is None
    forged.topic = b"U"
    store.put(encode(forged))
    assert store.at(at + message.record.size + 88) is None


def test_impossible_length_is_not_read() -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 26))
    forged = encode(Record(b"T", b"", born_host=HOST, store_host=HOST))
    store.put((1 << 25).to_bytes(4, "big") + forged[4:])
    store.log.end = store.readable = 1 << 26  # where there is room for it
    store.cool()
    reading = lookups.message_at(store, 88)
    wanted = next(reading)
    assert isinstance(wanted, Wanted)
    with pytest.raises(StopIteration):
        reading.send(wanted.file().read(wanted.position, wanted.size))


@given(st.integers(0, 400), st.integers(0, 7))
def test_damaged_record_is_returned_as_it_is_or_not(at: int, bit: int) -> None:
    store = Store()
    messages = [store.put(b"body %d" % number, KEYS="k") for number in range(4)]
    store.cool()
    file = store.disk.open("commitlog/00000000000000000000")
    file.write(at, [bytes([file.read(at, 1)[0] ^ 1 << bit])])
    position = 0
    for message in messages:
        found = store.at(position)
        is_hit = position <= at < position + len(message.data)
        assert found == message or (is_hit and (found is None or found.record != message.record))
        assert found is None or len(found.data) == found.record.size
        position += len(message.data)


def test_unreadable_or_deleted_records_are_not_returned() -> None:
    store = Store()
    first, *_, last = [store.put(bytes(3000)) for _ in range(5)]
    store.readable = last.record.physical_offset
    assert store.at(last.record.physical_offset) is None
    store.readable = store.log.end
    assert store.at(last.record.physical_offset) == last
    store.remove_log_file()
    assert store.at(first.record.physical_offset) is None


def test_a_message_is_found_by_its_id() -> None:
    store = Store()
    store.put()
    message = store.put(b"other")
    found = offset_id.encode(HOST, message.record.physical_offset)
    assert store.finish(lookups.message_by_id(store, found)) == message
    for wrong in ("", "xyz", "0" * 33, offset_id.encode(HOST, 7), "z" * 32):
        assert store.finish(lookups.message_by_id(store, wrong)) is None


# ---------------------------------------------------------------------- by key


@pytest.mark.parametrize("is_cold", [False, True])
def test_messages_are_found_by_each_of_their_keys(*, is_cold: bool) -> None:
    store = Store()
    store.put(KEYS="a b", UNIQ_KEY="u0")
    store.put(KEYS="b", UNIQ_KEY="u1")
    store.put(KEYS="b", topic="U")
    store.put(KEYS="bb ")
    if is_cold:
        store.cool()
    assert store.by_key("a") == [1000]
    assert store.by_key("b") == [1000, 2000]
    assert store.by_key("u1") == [2000]
    assert store.by_key("b", topic="U") == [3000]
    for nothing in ("c", "", "a b", "u"):
        assert store.by_key(nothing) == []


def test_newest_messages_within_the_times_are_returned_in_order() -> None:
    store = Store(replace(SETTINGS, max_msgs_num_batch=5))
    for _ in range(10):
        store.put(KEYS="k")
    assert store.by_key("k") == [6000, 7000, 8000, 9000, 10000]
    assert store.by_key("k", count_max=2) == [9000, 10000]
    assert store.by_key("k", count_max=0) == []
    assert store.by_key("k", times=(3000, 5000)) == [3000, 4000, 5000]
    answer = store.finish(lookups.messages_by_key(store, "T", "k", 1, *EVER))
    last = store.records[-1]
    assert (answer.index_end_ms, answer.index_end_offset) == (10_000, last.physical_offset)


def test_keys_with_equal_hashes_are_distinguished() -> None:
    store = Store(replace(SETTINGS, max_msgs_num_batch=4))
    store.put(KEYS="Aa")
    for _ in range(6):
        store.put(KEYS="BB")
    assert store.index.key_hash(b"T", b"Aa") == store.index.key_hash(b"T", b"BB")
    assert store.by_key("BB") == [4000, 5000, 6000, 7000]
    assert store.by_key("Aa") == [1000]  # in the second round
    store.put(KEYS="BB xAa")
    store.put(KEYS="k", topic="Aa")
    store.put(KEYS="k", topic="BB")
    assert store.by_key("Aa", times=(8000, 1 << 60)) == []
    assert store.by_key("k", topic="Aa") == [9000]


def test_record_that_is_indexed_twice_is_returned_once() -> None:
    store = Store()
    record = store.put(KEYS="k").record
    store.index.put(b"T", b"", b"k", record.physical_offset, record.store_timestamp_ms)
    assert store.by_key("k") == [1000]


def test_deleted_records_are_left_out() -> None:
    store = Store()
    for _ in range(6):
        store.put(bytes(2000), KEYS="k")
    store.remove_log_file()
    assert store.by_key("k") == [4000, 5000, 6000]
    store.readable = store.records[5].physical_offset
    assert store.by_key("k") == [4000, 5000]


def test_an_answer_fits_into_a_frame() -> None:
    store = Store(replace(SETTINGS, mapped_file_size_commit_log=1 << 26))
    for _ in range(5):
        store.put(bytes(4 << 20), KEYS="k")
    assert store.by_key("k") == [3000, 4000, 5000]


# ---------------------------------------------------------------------- figures and times


def test_bounds_of_a_queue_follow_log_and_readable_position() -> None:
    store = Store()
    assert store.finish(lookups.queue_bounds(store, "T", 0)) is None
    for _ in range(6):
        store.put(bytes(2000))
    assert store.finish(lookups.queue_bounds(store, "T", 0)) == Bounds(0, 6)
    store.remove_log_file()
    store.readable = store.records[5].physical_offset
    assert store.finish(lookups.queue_bounds(store, "T", 0)) == Bounds(3, 5)


def test_store_times_of_records() -> None:
    store = Store()
    assert store.finish(lookups.first_store_time(store)) == -1
    assert store.finish(lookups.earliest_store_time(store, "T", 0)) == -1
    for number in range(6):
        store.put(bytes(2000), queue_id=number % 2)
    store.remove_log_file()
    store.cool()
    assert store.finish(lookups.first_store_time(store)) == 4000
    assert store.finish(lookups.earliest_store_time(store, "T", 0)) == 5000
    times = [store.finish(lookups.store_time_of(store, "T", 0, offset)) for offset in range(-1, 5)]
    assert times == [-1, -1, -1, 5000, -1, -1]
    assert store.finish(lookups.store_time_of(store, "T", 2, 0)) == -1


def test_missing_records_have_no_store_time() -> None:
    store = Store()
    for _ in range(3):
        store.put()
    store.queues.append("T", 7, 5, store.records[1].physical_offset, 96, 0)
    times = [store.finish(lookups.store_time_of(store, "T", 7, offset)) for offset in (0, 5, 6)]
    assert times == [-1, 2000, -1]  # the queue begins at 5
    store.readable = store.records[2].physical_offset
    times = [store.finish(lookups.store_time_of(store, "T", 0, offset)) for offset in (1, 2)]
    assert times == [2000, -1]
    store.cool()
    store.disk.open("commitlog/00000000000000000000").write(28, [b"\1"])
    assert store.finish(lookups.first_store_time(store)) == -1


def test_store_time_of_a_record_with_ipv6_hosts() -> None:
    store = Store()
    record = Record(b"T", b"b", born_host=bytes(20), store_host=bytes(20))
    arena = store.log.start_group(777)
    arena.add(record)
    store.log.write(arena, 0.0)
    store.readable = store.log.end
    assert store.finish(lookups.first_store_time(store)) == 777


@pytest.mark.parametrize("is_cold", [False, True])
def test_offset_by_time_equals_a_linear_search(*, is_cold: bool) -> None:
    store = Store()
    for number in range(60):
        store.put(bytes(300), queue_id=number % 2)  # message n of queue 1 at 2000 * n + 2000
    store.remove_log_file()
    store.readable = store.records[57].physical_offset  # message 28 of queue 1
    bounds = store.finish(lookups.queue_bounds(store, "T", 1))
    assert bounds is not None
    first = bounds.minimum
    if is_cold:
        store.cool()

    def both(timestamp_ms: int) -> tuple[int, int]:
        return (
            store.finish(lookups.offset_by_time(store, "T", 1, timestamp_ms, Boundary.LOWER)),
            store.finish(lookups.offset_by_time(store, "T", 1, timestamp_ms, Boundary.UPPER)),
        )

    assert both(42_000) == (20, 20)
    assert both(42_001) == (21, 20)
    assert both(41_999) == (20, 19)
    assert both(0) == (first, first)
    assert both(1 << 60) == (28, 27)
    assert store.finish(lookups.offset_by_time(store, "T", 9, 5, Boundary.LOWER)) == 0
