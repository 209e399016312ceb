"""What was pulled of one queue and is not consumed yet."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.client.core.group.process_queue import LOCK_LIVE_S, Limits, ProcessQueue, Slice
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.broker import IDENTITY
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message.record import Record

QUEUE = MessageQueue("T", "broker-a", 0)


def messages(*offsets: int) -> list[ReceivedMessage]:
    host = IDENTITY.store_host
    return [
        ReceivedMessage(
            Record(b"T", b"12345", queue_offset=offset, born_host=host, store_host=host), QUEUE
        )
        for offset in offsets
    ]


def put(queue: ProcessQueue, found: list[ReceivedMessage]) -> Slice:
    return queue.put(found, 5 * len(found))


def settle(queue: ProcessQueue, part: Slice) -> None:
    queue.settle(part.batch, part.start, part.end, 0.0)


def test_the_commit_offset_passes_no_gap() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    found = put(queue, messages(3, 4, 7, 9))
    first, second, third = found.take(1), found.take(2), found.take(1)
    assert queue.commit_offset == 3
    settle(queue, second)
    assert queue.commit_offset == 3
    settle(queue, first)
    assert queue.commit_offset == 9
    settle(queue, third)
    assert (queue.commit_offset, queue.count, queue.bytes) == (10, 0, 0)


def test_before_the_first_pull_there_is_no_commit_offset() -> None:
    assert ProcessQueue(QUEUE, 0.0).commit_offset is None


def test_an_offset_is_passed_only_while_the_buffer_is_empty() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    queue.pass_to(50)
    assert queue.commit_offset == 50
    put(queue, messages(60))
    queue.pass_to(70)
    assert queue.commit_offset == 60


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(1, 3), st.integers())
def test_progress_is_the_smallest_unsettled_offset(sizes: list[int], step: int, seed: int) -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    offsets = itertools.count(10, step)
    parts = []
    for size in sizes:
        found = put(queue, messages(*itertools.islice(offsets, size)))
        while found.start < found.end:
            parts.append(found.take(2))
    left = {message.offset for part in parts for message in part.messages}
    end = max(left) + 1
    random.Random(seed).shuffle(parts)
    for part in parts:
        settle(queue, part)
        left -= {message.offset for message in part.messages}
        assert queue.commit_offset == min(left, default=end)
        assert queue.count == len(left)


def test_it_is_full_by_count_bytes_or_span() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    put(queue, messages(0, 500))
    assert queue.excess(Limits(2, 10, 500)) is None
    assert queue.excess(Limits(1, 10, 500)) == "2 messages are cached, over 1"
    assert queue.excess(Limits(2, 9, 500)) == "10 bytes are cached, over 9"
    assert queue.excess(Limits(2, 10, 499)) == "the span of offsets is 500, over 499"
    assert queue.excess(Limits(2, 10, None)) is None


def test_a_moved_queue_discards_its_messages() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    found = put(queue, messages(0, 1, 2))
    queue.move_to(40)
    settle(queue, found)
    assert (queue.commit_offset, queue.count, queue.is_dropped) == (40, 0, True)


def test_locks_and_pulls_expire() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    assert not queue.is_locked(0.0)
    queue.locked_at = 5.0
    assert queue.is_locked(5.0 + LOCK_LIVE_S)
    assert not queue.is_locked(5.1 + LOCK_LIVE_S)
    assert not queue.is_idle(120.0)
    assert queue.is_idle(120.1)


def test_waiting_pulls_are_woken_when_there_is_room() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    found = put(queue, messages(0, 1, 2))
    settle(queue, found.take(1))
    assert not queue.changed.is_set
    queue.wakes_at = 1
    settle(queue, found.take(1))
    assert queue.changed.is_set
