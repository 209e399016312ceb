"""Handles RECALL_MESSAGE, which cancels a timer message before it is due.

A recall is a message in the timer queue, due at the same time as its target; the timer drops the
target when it reads both. As in Java, a successful answer says that the recall is stored, not that
the target exists. The recall is as durable as the message.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.schedule import timers
from gantrymq.broker.core.schedule.timers import RecallHandle, decode_handle
from gantrymq.broker.core.send import sends
from gantrymq.broker.core.state import State
from gantrymq.wire import java_string
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.send import RecallMessageRequest, RecallMessageResponse
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import (
    BORN_TIMESTAMP,
    MSG_REGION,
    PRODUCER_GROUP,
    TAGS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELIVER_MS,
    UNIQ_KEY,
)
from gantrymq.wire.message.record import Record

# Java's values, so that a Java broker that takes over the store understands them.
RECALL_TAG: Final = "_RECALL_TAG_"
RECALL_BODY: Final = b"0"

_AWAY: Final = "recall failed, broker service not available"


def recall_message(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = RecallMessageRequest.decode(request.command.ext)
    refusal = _refusal(state, header)
    if refusal is not None:
        return refusal
    handle = decode_handle(header.recall_handle)
    if handle is None:
        return refused(
            ResponseCode.ILLEGAL_OPERATION,
            "recall handle is invalid: it has to be the one that the answer to the send said",
        )
    refusal = _handle_refusal(state, header, handle)
    return refusal or _recall(state, request, header, handle)


def _refusal(state: State, header: RecallMessageRequest) -> Reply | None:
    """Why this broker does not accept recalls now, else None."""
    settings = state.settings
    if not settings.recall_message_enable:
        return refused(
            ResponseCode.NO_PERMISSION,
            "recall failed, operation is forbidden: recallMessageEnable is false on this broker",
        )
    if not state.identity.is_master:
        return refused(
            ResponseCode.SLAVE_NOT_AVAILABLE, f"{_AWAY}: this is a slave, ask its master"
        )
    if state.wall_ms < settings.start_accept_send_request_time_stamp:
        return refused(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            f"{_AWAY}: it takes messages from startAcceptSendRequestTimeStamp "
            f"{settings.start_accept_send_request_time_stamp} on",
        )
    if state.topics.find(header.topic) is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{header.topic}] not exist"
        )
    return None


def _handle_refusal(
    state: State, header: RecallMessageRequest, handle: RecallHandle
) -> Reply | None:
    """Why this handle is not valid here now, else None."""
    if handle.topic != header.topic:
        return refused(
            ResponseCode.ILLEGAL_OPERATION,
            f"recall failed, topic not match: the handle is of topic {handle.topic}",
        )
    if handle.broker_name != state.identity.name:
        return refused(
            ResponseCode.ILLEGAL_OPERATION,
            f"{_AWAY}: the handle is of broker {handle.broker_name}, this is {state.identity.name}",
        )
    left_ms = handle.timestamp_ms - state.wall_ms
    if not 0 < left_ms < state.settings.timer_max_delay_sec * 1000:
        return refused(
            ResponseCode.ILLEGAL_OPERATION,
            f"recall failed, timestamp invalid: the message was due {-left_ms} ms ago"
            if left_ms <= 0
            else "recall failed, timestamp invalid: it lies further ahead than timerMaxDelaySec",
        )
    return None


def _recall(
    state: State, request: Request, header: RecallMessageRequest, handle: RecallHandle
) -> Task[Outcome]:
    message = timers.rewrite(state, _message(state, request, header, handle))
    if isinstance(message, tuple):
        return refused(*message)
    answer = yield from tasks.put(message)
    if not answer.status.is_stored:
        return refused(ResponseCode.SYSTEM_ERROR, f"recall failed, execute error: {answer.remark}")
    reply = done(RecallMessageResponse(msg_id=handle.message_id))
    assert reply.command.ext is not None
    reply.command.ext[MSG_REGION] = state.settings.region_id
    return reply


def _message(
    state: State, request: Request, header: RecallMessageRequest, handle: RecallHandle
) -> Record:
    """The recall before it is rewritten into the timer queue."""
    named = {
        TAGS: RECALL_TAG,
        TIMER_DEL_UNIQKEY: handle.delete_key,
        UNIQ_KEY: handle.message_id,
        TIMER_DELIVER_MS: handle.timestamp,
        BORN_TIMESTAMP: str(state.wall_ms),
    }
    if header.producer_group:
        named[PRODUCER_GROUP] = header.producer_group
    return Record(
        java_string.utf8_bytes(handle.topic),
        RECALL_BODY,
        properties=properties.encode(named),
        born_timestamp_ms=state.wall_ms,
        born_host=sends.born_host(state, request),
        store_host=state.identity.store_host,
    )


HANDLERS: Final[Handlers] = {RequestCode.RECALL_MESSAGE: recall_message}
