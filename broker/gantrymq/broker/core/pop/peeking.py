"""Reads the messages that a group would pop next, without making them invisible."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.pop.orders import Orders
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.store.read.readable_store import readable_end_now
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pop import (
    NotificationRequest,
    PeekMessageRequest,
    PopMessageResponse,
)

# The limit of a pop.
MESSAGES_MAX = 32


def peek(state: State, request: Request, header: PeekMessageRequest, queues: int) -> Task[Outcome]:
    """Answer messages from as many queues as needed."""
    left = min(header.max_msg_nums, MESSAGES_MAX)
    chunks: list[bytes] = []
    rest = 0
    for place in _places(state, header, queues):
        start, end = bounds(state, place)
        rest += end - start
        if left <= 0 or start >= end:
            continue
        query = PullQuery(place[1], place[2], start, left)
        found = yield from tasks.read(pull(state.store, query, state.memory_bytes))
        chunks += found.chunks
        left -= found.count
        rest -= found.count
        state.stats.got(place[0], place[1], found.count, found.size)
        if state.quotas.is_on:
            state.quotas.gate.consumed(request, place[1], place[0], found.size)
    code = ResponseCode.SUCCESS if chunks else ResponseCode.PULL_NOT_FOUND
    status = PullStatus.FOUND if chunks else PullStatus.NO_MESSAGE_IN_QUEUE
    ext = PopMessageResponse(
        pop_time=state.wall_ms, invisible_time=0, revive_qid=pop_handles.PLAIN_QUEUE, rest_num=rest
    )
    body = b"".join(chunks)
    return Reply(Command(code, ext=ext.encode(), body=body, remark=status.name))


def has_messages(state: State, orders: Orders, header: NotificationRequest, queues: int) -> bool:
    """Whether a pop would find messages, regardless of filters."""
    for place in _places(state, header, queues):
        start, end = bounds(state, place)
        waits = bool(header.order) and orders.waits(place, header.attempt_id, state.wall_ms)
        if start < end and not waits:
            return True
    return False


def bounds(state: State, place: Place) -> tuple[int, int]:
    """The offset of the group's next message in the queue, and the end of the visible messages."""
    queue = state.store.queues.find(place[1], place[2])
    if queue is None:
        return 0, 0
    start = position(state, place)
    end = readable_end_now(queue, state.store.readable)
    return min(max(queue.minimum, start or 0), end), end


def position(state: State, place: Place) -> int | None:
    """The offset at which the group's next pop begins; None when the group has none."""
    following, stored = state.in_flight.next(place), state.offsets.find(*place)
    return stored if following is None else max(following, stored or 0)


def _places(
    state: State, header: PeekMessageRequest | NotificationRequest, queues: int
) -> Iterator[Place]:
    group, topic = header.consumer_group, header.topic
    if header.queue_id >= 0:
        yield group, topic, header.queue_id
    else:
        start = state.chance(queues) if queues else 0
        for number in range(queues):
            yield group, topic, (start + number) % queues
    yield group, pop_handles.retry_topic(group, topic), 0
