"""Tests pulls from damaged logs and queues, and pulls during deletions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError
from gantrymq.fakes.stores.pulled_store import (
    MEMORY_BYTES,
    OVERHEAD_BYTES,
    PUTS,
    SETTINGS,
    Put,
    Store,
    damage,
    everything,
    filled,
    numbers,
    outcome,
)
from gantrymq.store.read.async_reader import AsyncReader
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.testing.memory_background import MemoryBackground


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
