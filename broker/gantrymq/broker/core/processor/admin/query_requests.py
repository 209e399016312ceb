"""Handles queries for messages, for offsets by time, and for the bounds and units of queues.

A queue without messages is answered as an empty one with offsets of 0, as in Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.rights import Right
from gantrymq.broker.core.acl import checks
from gantrymq.broker.core.engine.tasks import Task, read
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.consumequeue.queue_unit import UNIT
from gantrymq.store.engine import Store
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import (
    Bounds,
    earliest_store_time,
    message_at,
    messages_by_key,
    offset_by_time,
    queue_bounds,
)
from gantrymq.store.read.readable_store import queue_units
from gantrymq.wire.bodies.consuming.consume_queue import ConsumeQueueBody, QueueUnit
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG, SubscriptionData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.offset import (
    GetEarliestMsgStoretimeRequest,
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    OffsetResponse,
    SearchOffsetRequest,
)
from gantrymq.wire.headers.query import (
    QueryConsumeQueueRequest,
    QueryMessageRequest,
    QueryMessageResponse,
    ViewMessageRequest,
)
from gantrymq.wire.java_string import utf8_text

# As many as a pull examines at most; admin tools show fewer. Java has no bound.
UNITS_MAX: Final = 800

NOTHING: Final = Bounds(0, 0)

# A message that is only looked at is consumed by no group.
_NO_GROUP: Final = ""

Unit: TypeAlias = tuple[int, int, int]
"""Position in the log, size, tags code."""


def view_message(state: State, request: Request) -> Task[Outcome]:
    header = ViewMessageRequest.decode(request.command.ext)
    found = None
    if header.offset >= 0:
        found = yield from read(message_at(state.store, header.offset))
    if found is None:
        log = state.store.log
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"can not find message by the offset, {header.offset}: no message begins there; this"
            f" broker has offsets from {log.start} up to {log.end}",
        )
    reading = Action.SUB | Action.GET
    refusal = checks.refuse_message(state, request, found.record, Right.SUB, actions=reading)
    if refusal is not None:
        return refusal
    if state.quotas.is_on:
        topic = utf8_text(found.record.topic)
        state.quotas.gate.consumed(request, topic, _NO_GROUP, len(found.data))
    return done(body=found.data)


def query_message(state: State, request: Request) -> Task[Outcome]:
    header = QueryMessageRequest.decode(request.command.ext)
    settings = state.store.settings
    count_max = settings.default_query_max_num if header.unique_key_query else header.max_num
    answer = yield from read(
        messages_by_key(
            state.store,
            header.topic,
            header.key,
            max(0, count_max),
            header.begin_timestamp,
            header.end_timestamp,
        )
    )
    index = QueryMessageResponse(
        index_last_update_timestamp=answer.index_end_ms,
        index_last_update_phyoffset=answer.index_end_offset,
    )
    if answer.messages:
        body = b"".join(message.data for message in answer.messages)
        if state.quotas.is_on:
            state.quotas.gate.consumed(request, header.topic, _NO_GROUP, len(body))
        return done(index, body)
    reply = refused(
        ResponseCode.QUERY_NOT_FOUND,
        "can not find message, maybe time range not correct"
        + ("" if settings.message_index_enable else "; messageIndexEnable is off here"),
    )
    reply.command.ext = index.encode()
    return reply


def search_offset(state: State, request: Request) -> Task[Outcome]:
    header = SearchOffsetRequest.decode(request.command.ext)
    is_upper = (header.boundary_type or "").upper() == "UPPER"
    boundary = Boundary.UPPER if is_upper else Boundary.LOWER
    offset = yield from read(
        offset_by_time(state.store, header.topic, header.queue_id, header.timestamp, boundary)
    )
    return done(OffsetResponse(offset=offset))


def max_offset(state: State, request: Request) -> Task[Outcome]:
    """`committed` makes no difference: messages that consumers cannot see have no offset here."""
    header = GetMaxOffsetRequest.decode(request.command.ext)
    bounds = yield from read(queue_bounds(state.store, header.topic, header.queue_id))
    return done(OffsetResponse(offset=(bounds or NOTHING).maximum))


def min_offset(state: State, request: Request) -> Task[Outcome]:
    header = GetMinOffsetRequest.decode(request.command.ext)
    bounds = yield from read(queue_bounds(state.store, header.topic, header.queue_id))
    return done(OffsetResponse(offset=(bounds or NOTHING).minimum))


def earliest_time(state: State, request: Request) -> Task[Outcome]:
    header = GetEarliestMsgStoretimeRequest.decode(request.command.ext)
    time_ms = yield from read(earliest_store_time(state.store, header.topic, header.queue_id))
    return done(GetEarliestMsgStoretimeResponse(timestamp=time_ms))


def query_queue(state: State, request: Request) -> Task[Outcome]:
    """Answer the stored units of a queue, and which of them match a group's filter."""
    header = QueryConsumeQueueRequest.decode(request.command.ext)
    topic, queue_id, index = header.topic or "", header.queue_id or 0, header.index or 0
    count = min(header.count or 0, UNITS_MAX)
    bounds, units = yield from read(_units(state.store, topic, queue_id, index, count))
    if bounds is None:
        return refused(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
    if not bounds.minimum <= index < bounds.maximum:
        return done(
            remark=f"Index {index} of {queue_id}@{topic} is not exist! It has those from"
            f" {bounds.minimum} up to {bounds.maximum}."
        )
    filter_data = subscription = None
    if header.consumer_group is not None:
        consumers = state.clients.consumers.get(header.consumer_group)
        subscription = None if consumers is None else consumers.subscriptions.get(topic)
        is_online = subscription is not None
        filter_data = "null" if is_online else f"{header.consumer_group}@{topic} is not online!"
    body = ConsumeQueueBody(
        minimum=bounds.minimum,
        maximum=bounds.maximum,
        units=tuple(
            QueueUnit(position, size, code, _passes(subscription, code))
            for position, size, code in units
        ),
        filter_data=filter_data,
        subscription=subscription,
    )
    return done_json(body.to_json())


def _passes(subscription: SubscriptionData | None, tags_code: int) -> bool:
    """Whether a tag filter matches, by the unit alone; false for expressions, which need the
    message."""
    if subscription is None or subscription.expression_type != EXPRESSION_TAG:
        return False
    return not subscription.codes or tags_code in subscription.codes


def _units(
    store: Store, topic: str, queue_id: int, index: int, count: int
) -> ReadTask[tuple[Bounds | None, Sequence[Unit]]]:
    """Read the bounds, and up to `count` units from `index` on, fewer where a file of the queue
    ends."""
    bounds = yield from queue_bounds(store, topic, queue_id)
    queue = store.queues.find(topic, queue_id)
    if bounds is None or queue is None or not bounds.minimum <= index < bounds.maximum:
        return bounds, ()
    count = min(count, bounds.maximum - index)
    if count <= 0:
        return bounds, ()
    data = yield from queue_units(queue, index, count)
    return bounds, list(UNIT.iter_unpack(data))


HANDLERS: Final[Handlers] = {
    RequestCode.QUERY_MESSAGE: query_message,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: search_offset,
    RequestCode.GET_MAX_OFFSET: max_offset,
    RequestCode.GET_MIN_OFFSET: min_offset,
    RequestCode.GET_EARLIEST_MSG_STORETIME: earliest_time,
    RequestCode.VIEW_MESSAGE_BY_ID: view_message,
    RequestCode.QUERY_CONSUME_QUEUE: query_queue,
}
