"""Tests pulls: their statuses, the limits of an answer, and damage."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from gantrymq.base.errors import CorruptionError
from gantrymq.fakes.stores.pulled_store import (
    MEMORY_BYTES,
    SETTINGS,
    Store,
    at_once,
    filled,
    numbers,
    outcome,
    place,
)
from gantrymq.store.read.async_reader import Wanted
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_batch import UNITS_MAX
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.store.read.pull_units import GAP_BYTES, RECENT_GAP_BYTES
from gantrymq.wire.message.record import Record, decode_all


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
