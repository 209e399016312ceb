"""Handles requests about popped messages: acknowledging them and changing their invisible time.

An acknowledgement that comes too late is answered with success, as in RocketMQ: the message is
visible again, or was popped again. A client that repeats an acknowledgement must not take it for a
failure. The invisible time of a message that was popped again cannot be changed by its old handle:
that request is refused.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.names.pop_handles import Handle
from gantrymq.broker.core.pop.orders import AckFault
from gantrymq.broker.core.pop.peeking import position
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.processor.consume.pop_requests import INVISIBLE_MS_MAX, invisible_fault
from gantrymq.broker.core.processor.handler import BoundHandlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import BatchAck, BatchAckBody
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    ChangeInvisibleTimeResponse,
)

# Limit of the messages of one request; a pop returns 32 at most.
ACKS_MAX: Final = 10_000


def ack_message(pops: Pops, state: State, request: Request) -> Outcome:
    header = AckMessageRequest.decode(request.command.ext)
    refusal = _refusal(state, request, header)
    if refusal is not None:
        return refusal
    handle = pop_handles.parse(header.extra_info)
    place = (header.consumer_group, header.topic, header.queue_id)
    return _ack(pops, state, place, header.offset, handle) or done()


def batch_ack(pops: Pops, state: State, request: Request) -> Outcome:
    """Acknowledges many messages. Offsets that are not in the queue are ignored."""
    if not request.command.body:
        return refused(ResponseCode.NO_MESSAGE, "the request has no body: it names no message")
    body = BatchAckBody.from_json(javajson.loads(request.command.body))
    count = sum(ack.count for ack in body.acks)
    if count == 0:
        return refused(ResponseCode.NO_MESSAGE, "the request acknowledges no message")
    if count > ACKS_MAX:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"the request acknowledges {count} messages, {ACKS_MAX} are allowed: send several",
        )
    faults = [fault for ack in body.acks if (fault := _ack_many(pops, state, ack)) is not None]
    return faults[-1] if faults else done()


def _ack_many(pops: Pops, state: State, ack: BatchAck) -> Reply | None:
    topic = pop_handles.topic_of(ack.retry, ack.group, ack.topic)
    place = (ack.group, topic, ack.queue_id)
    handle = Handle(ack.pop_ms, ack.revive_queue)
    fault = None
    for offset in ack.offsets:
        if _has(state, topic, ack.queue_id, offset):
            fault = _ack(pops, state, place, offset, handle) or fault
    return fault


def _ack(pops: Pops, state: State, place: Place, offset: int, handle: Handle) -> Reply | None:
    """Acknowledge one message. Returns a refusal only where RocketMQ refuses; else None."""
    if handle.is_orderly:
        return _ack_in_order(pops, state, place, offset, handle)
    message = state.in_flight.find(place, offset, handle.pop_ms)
    if message is not None:
        pops.drop(message)
    return None


def _ack_in_order(
    pops: Pops, state: State, place: Place, offset: int, handle: Handle
) -> Reply | None:
    """Acknowledge a message of an orderly pop, and move the group's offset to the first message
    that is not acknowledged."""
    stored = position(state, place)
    if stored is not None and offset < stored:
        return None
    following = pops.orders.ack(place, offset, handle.pop_ms, stored)
    if following is AckFault.STALE:
        return None
    if isinstance(following, AckFault):
        group, topic, queue_id = place
        return refused(
            ResponseCode.MESSAGE_ILLEGAL,
            f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{stored}, commit:{offset}:"
            f" {following.value}",
        )
    pops.skip(place, following)
    pops.wake_soon(place)
    return None


# ---------------------------------------------------------------------- invisible time


def change_invisible_time(pops: Pops, state: State, request: Request) -> Outcome:
    header = ChangeInvisibleTimeRequest.decode(request.command.ext)
    refusal = _refusal(state, request, header)
    if refusal is not None:
        return refusal
    if not 0 <= header.invisible_time <= INVISIBLE_MS_MAX:
        return refused(ResponseCode.INVALID_PARAMETER, invisible_fault(header.invisible_time))
    handle = pop_handles.parse(header.extra_info)
    place = (header.consumer_group, header.topic, header.queue_id)
    due_ms = state.wall_ms + header.invisible_time
    if handle.is_orderly:
        return _keep_in_order(pops, place, header.offset, handle, due_ms)
    message = state.in_flight.find(place, header.offset, handle.pop_ms)
    if message is None:
        return refused(
            ResponseCode.NO_MESSAGE,
            f"message {header.offset} of queue {header.queue_id} of {header.topic} is not out"
            f" since {handle.pop_ms}: it was acknowledged, or its invisible time is over",
        )
    # A handle of the same millisecond would equal the old one.
    pop_ms = max(state.wall_ms, handle.pop_ms + 1)
    state.in_flight.keep_out(message, pop_ms, due_ms)
    pops.changed()
    return _kept(pop_ms, header.invisible_time, handle)


def _keep_in_order(pops: Pops, place: Place, offset: int, handle: Handle, due_ms: int) -> Reply:
    """Change the invisible time of an orderly message. The handle stays the same, because all
    messages of the pop share it."""
    pops.orders.keep_out(place, offset, handle.pop_ms, due_ms)
    pops.watch_order(due_ms)
    return _kept(handle.pop_ms, due_ms - handle.pop_ms, handle)


def _kept(pop_ms: int, invisible_ms: int, handle: Handle) -> Reply:
    return done(
        ChangeInvisibleTimeResponse(
            pop_time=pop_ms, invisible_time=invisible_ms, revive_qid=handle.revive_queue
        )
    )


# ---------------------------------------------------------------------- checks


def _refusal(
    state: State, request: Request, header: AckMessageRequest | ChangeInvisibleTimeRequest
) -> Reply | None:
    topic = state.topics.find(header.topic)
    if topic is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"topic[{header.topic}] not exist, apply first please! Create it with mqadmin"
            f" updateTopic -b {state.identity.address} -t {header.topic}",
        )
    if not 0 <= header.queue_id < topic.read_queue_nums:
        return refused(
            ResponseCode.MESSAGE_ILLEGAL,
            f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}]"
            f" topicConfig.readQueueNums:[{topic.read_queue_nums}]"
            f" consumer:[/{request.channel.peer}]",
        )
    if not _has(state, header.topic, header.queue_id, header.offset):
        queue = state.store.queues.find(header.topic, header.queue_id)
        there = "no message" if queue is None else f"{queue.minimum}~{queue.end}"
        return refused(
            ResponseCode.NO_MESSAGE,
            f"offset is illegal, key:{header.topic}@{header.queue_id}, commit:{header.offset},"
            f" store:{there}",
        )
    return None


def _has(state: State, topic: str, queue_id: int, offset: int) -> bool:
    queue = state.store.queues.find(topic, queue_id)
    return queue is not None and queue.minimum <= offset < queue.end


BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.ACK_MESSAGE: lambda services: partial(ack_message, services.pops),
    RequestCode.BATCH_ACK_MESSAGE: lambda services: partial(batch_ack, services.pops),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: lambda services: partial(
        change_invisible_time, services.pops
    ),
}
