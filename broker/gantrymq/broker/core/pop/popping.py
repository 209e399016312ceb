"""Carries out one pop: selects queues, makes their messages invisible, and builds the answer.

    SUCCESS          messages as they are in the log; those from the retry topic under their
                     original topic, each with its handle in POP_CK, as Java 5.3 does, unless
                     its properties are full
    POLLING_TIMEOUT  nothing, and no time to wait
    POLLING_FULL     nothing, and too many requests wait

A pop of all queues begins at a random one, and includes the retry topic before or after them. A pop
in order does not use the retry topic: its messages are delivered again from their own queue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.broker.core.engine.tasks import Task, wait
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.pop.initial_offset import beginning
from gantrymq.broker.core.pop.peeking import position
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.pull import pulls
from gantrymq.broker.core.pull.commits import queue_end
from gantrymq.broker.core.pull.subscriptions import Choice
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_batch import FILTERED_SECONDS
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.store.read.readable_store import readable_end_now
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pop import PopMessageRequest, PopMessageResponse
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import properties, property_names
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, decode_all, encode

# The percentage of pops that begin with the retry topic: Java's popFromRetryProbability.
RETRY_FIRST_PERCENT: Final = 20

# Queues that a pop examines in one turn, about 4 us each when it is empty.
QUEUES_A_TURN: Final = 1_024

# The messages at the group's offset were deleted.
_GONE: Final = frozenset({PullStatus.OFFSET_TOO_SMALL, PullStatus.OFFSET_FOUND_NULL})

# The filter rejected the messages, or the log lost them.
_PASSED: Final = frozenset({PullStatus.NO_MATCHED_MESSAGE, PullStatus.MESSAGE_WAS_REMOVING})

_head: Final = struct.Struct(">i16xq")  # of a record: size, queue offset


@final
@dataclass(frozen=True, slots=True)
class Pop:
    """A validated pop."""

    request: Request
    header: PopMessageRequest
    queues: int
    choice: Choice

    @property
    def is_orderly(self) -> bool:
        return bool(self.header.order)


@final
@dataclass(slots=True)
class _Gathered:
    """The answer under construction."""

    pop_ms: int
    left: int
    rest: int = 0
    """Messages that are available and were not returned."""
    goes_on: bool = False
    """Whether a filter rejected all messages of one read, and there are more after them."""
    chunks: list[bytes] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)


def attempt(state: State, pops: Pops, pop: Pop) -> Task[Reply | None]:
    """Return the available messages, or None.

    When a filter has more messages to examine, the pop is tried again in the next turn, so that
    other work can run in between.
    """
    gathered = yield from _gather(state, pops, pop)
    if gathered.chunks:
        return _answer(pop, ResponseCode.SUCCESS, gathered)
    if gathered.goes_on:
        header = pop.header
        pops.wake_soon((header.consumer_group, header.topic, header.queue_id))
    return None


def nothing(state: State, pop: Pop, code: ResponseCode) -> Reply:
    """The answer without messages."""
    return _answer(pop, code, _Gathered(state.wall_ms, 0))


def _gather(state: State, pops: Pops, pop: Pop) -> Task[_Gathered]:
    gathered = _Gathered(state.wall_ms, pop.header.max_msg_nums)
    until = state.now + FILTERED_SECONDS
    for number, (topic, queue_id) in enumerate(_places(state, pop), 1):
        if number % QUEUES_A_TURN == 0:
            yield from wait()
        place = (pop.header.consumer_group, topic, queue_id)
        if gathered.left <= 0:
            gathered.rest += _waiting_in(state, place)
        elif state.now > until:
            gathered.goes_on = True
            break
        elif not pops.is_busy(place):
            with pops.reading(place):
                yield from _take_out(state, pops, pop, gathered, place)
    return gathered


def _places(state: State, pop: Pop) -> Iterator[tuple[str, int]]:
    """Topics and queues, in the order in which this pop reads them."""
    header = pop.header
    start = state.chance(100)
    again = pop_handles.retry_topic(header.consumer_group, header.topic)
    has_retries = not pop.is_orderly and state.topics.find(again) is not None
    if has_retries and start < RETRY_FIRST_PERCENT:
        yield again, 0
    if header.queue_id >= 0:
        yield header.topic, header.queue_id
    else:
        for number in range(pop.queues):
            yield header.topic, (start + number) % pop.queues
    if has_retries and start >= RETRY_FIRST_PERCENT:
        yield again, 0


def _waiting_in(state: State, place: Place) -> int:
    queue = state.store.queues.find(place[1], place[2])
    if queue is None:
        return 0
    start = position(state, place)
    end = readable_end_now(queue, state.store.readable)
    return max(0, end - max(queue.minimum, start or 0))


# ---------------------------------------------------------------------- one queue


def _take_out(state: State, pops: Pops, pop: Pop, gathered: _Gathered, place: Place) -> Task[None]:
    header = pop.header
    pops.take_reset(place)
    if pop.is_orderly and pops.orders.waits(place, header.attempt_id, state.wall_ms):
        return
    start = yield from _start(state, pops, place, header.init_mode)
    count = _count(state, pops, pop, gathered, place)
    if start is None or count <= 0 or not _waiting_in(state, place):
        return
    queue = state.store.queues.find(place[1], place[2])
    found = yield from _read(state, _reading(state, pop, place, start, count))
    if found.status in _GONE:
        start = found.next_offset
        pops.skip(place, start)
        found = yield from _read(state, _reading(state, pop, place, start, count))
    if _is_gone(state, place, queue):
        return
    gathered.rest += max(0, found.maximum - found.next_offset)
    if found.count:
        _out(state, pops, pop, gathered, place, start, found)
    elif found.status in _PASSED:
        if start < found.next_offset < found.maximum:
            gathered.goes_on = True
        pops.skip(place, found.next_offset)


def _is_gone(state: State, place: Place, queue: ConsumeQueue | None) -> bool:
    """Whether the topic or group was deleted while the pop was reading.

    A new one of the same name begins empty, and the old queue is deleted a little later.
    """
    group, topic, queue_id = place
    if state.groups.find(group) is None or state.topics.find(topic) is None:
        return True
    return state.store.queues.find(topic, queue_id) is not queue


def _start(state: State, pops: Pops, place: Place, init_mode: int) -> Task[int | None]:
    """The offset at which this pop begins; None when the table of offsets is full."""
    start = position(state, place)
    if start is None:
        if state.offsets.is_full:
            return None
        start = yield from beginning(state, place, init_mode)
        pops.skip(place, start)
    end = queue_end(state, place[1], place[2])
    if start > end:
        # No message there was ever delivered; messages to come must not be skipped.
        state.effects.warning(
            f"moved group offset back to the end of the queue group={place[0]} topic={place[1]}"
            f" queue={place[2]} offset={start} end={end}"
        )
        start = end
        pops.move(place, start)
    return start


def _count(state: State, pops: Pops, pop: Pop, gathered: _Gathered, place: Place) -> int:
    """How many messages the pop may take from this queue."""
    if pop.is_orderly:
        return 0 if pops.orders.is_full else gathered.left
    return min(gathered.left, state.in_flight.room(place[0]))


def _reading(state: State, pop: Pop, place: Place, offset: int, count: int) -> ReadTask[Pulled]:
    choice = pop.choice
    meter = state.store.filter_meter
    query = PullQuery(place[1], place[2], offset, count, choice.tags, choice.matches, meter)
    return pull(state.store, query, state.memory_bytes)


def _read(state: State, reading: ReadTask[Pulled]) -> Task[Pulled]:
    found = pulls.begun(reading)
    return found if isinstance(found, Pulled) else (yield from pulls.read_rest(state, found))


def _out(
    state: State, pops: Pops, pop: Pop, gathered: _Gathered, place: Place, start: int, found: Pulled
) -> None:
    """Mark the messages as in flight, and add them to the answer."""
    group, topic, queue_id = place
    offsets = _offsets(found.chunks)
    due_ms = gathered.pop_ms + pop.header.invisible_time
    if pop.is_orderly:
        _out_in_order(pops, pop, gathered, place, offsets)
    else:
        state.in_flight.take(place, offsets, found.next_offset, gathered.pop_ms, due_ms)
        pops.changed()
    gathered.left -= len(offsets)
    gathered.starts.append(pop_handles.start_info(topic, queue_id, start))
    gathered.offsets.append(pop_handles.offsets_info(topic, queue_id, offsets))
    if pop_handles.kind_of(topic) == pop_handles.TOPIC:
        gathered.chunks += found.chunks
    else:
        gathered.chunks += _renamed(state, pop, gathered.pop_ms, start, found.chunks)
    state.stats.got(group, topic, found.count, found.size)
    if state.quotas.is_on:
        state.quotas.gate.consumed(pop.request, topic, group, found.size)


def _out_in_order(
    pops: Pops, pop: Pop, gathered: _Gathered, place: Place, offsets: Sequence[int]
) -> None:
    _, topic, queue_id = place
    due_ms = gathered.pop_ms + pop.header.invisible_time
    batch = pops.orders.take(place, pop.header.attempt_id, gathered.pop_ms, due_ms, offsets)
    pops.watch_order(due_ms)
    counts = [batch.counts.get(offset, 0) for offset in offsets]
    gathered.counts += [
        pop_handles.count_info(topic, queue_id, count, offset)
        for offset, count in zip(offsets, counts, strict=True)
        if count
    ]
    gathered.counts.append(pop_handles.count_info(topic, queue_id, min(counts)))


def _offsets(chunks: Sequence[bytes]) -> list[int]:
    """The queue offsets of the messages."""
    offsets = []
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            size, offset = _head.unpack_from(chunk, at)
            offsets.append(offset)
            at += size
    return offsets


def _renamed(
    state: State, pop: Pop, pop_ms: int, start: int, chunks: Sequence[bytes]
) -> list[bytes]:
    """Messages of the retry topic, encoded as messages of their original topic.

    A message without room for its handle stays unchanged: clients then make the handle from the
    answer's lists, as for the topic itself.
    """
    header = pop.header
    topic = utf8_bytes(header.topic)
    times_ms = (pop_ms, header.invisible_time)
    renamed = []
    for chunk in chunks:
        for record in decode_all(chunk):
            place = (pop_handles.retry_topic(header.consumer_group, header.topic), record.queue_id)
            handle = pop_handles.handle(
                place, start, times_ms, state.identity.name, record.queue_offset
            )
            named = properties.replace(record.properties, property_names.POP_CK, handle)
            if len(named) <= PROPERTIES_BYTES_MAX:
                record.properties, record.topic = named, topic
            renamed.append(encode(record))
    return renamed


def _answer(pop: Pop, code: ResponseCode, gathered: _Gathered) -> Reply:
    ext = PopMessageResponse(
        pop_time=gathered.pop_ms,
        invisible_time=pop.header.invisible_time,
        revive_qid=pop_handles.ORDERLY_QUEUE if pop.is_orderly else pop_handles.PLAIN_QUEUE,
        rest_num=gathered.rest,
        start_offset_info=";".join(gathered.starts),
        msg_offset_info=";".join(gathered.offsets),
        order_count_info=";".join(gathered.counts) if pop.is_orderly else None,
    )
    found = PullStatus.FOUND if gathered.chunks else PullStatus.NO_MESSAGE_IN_QUEUE
    body = b"".join(gathered.chunks)
    return Reply(Command(code, ext=ext.encode(), body=body, remark=found.name))
