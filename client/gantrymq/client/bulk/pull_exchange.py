"""Encodes one pull of a bulk read and interprets its response.

    PULL_MESSAGE, with the filter in the request, never held by the broker, no offset committed
    ext `bulk`   "true": a Gantry broker then obeys maxMsgNums and maxMsgBytes up to its
                 maxTransferCountOnBulkPull and maxTransferBytesOnBulkPull; RocketMQ's brokers
                 ignore the field and return at most 32 messages by default

Invariant: without a filter, a response with messages begins with the requested message. Otherwise
retention removed the messages before it, and `read` returns GONE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.message import tags
from gantrymq.wire.message.record import QUEUE_OFFSET_POSITION, RECORD_BYTES_MIN

BULK_FIELD: Final = "bulk"

_SUBSCRIPTION: Final = 4
"""Bit of sysFlag: the request contains its filter."""

# After these codes a retry may succeed, at this broker or at another one.
_PASSING: Final = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.FLOW_CONTROL,
        ResponseCode.GO_AWAY,
    }
)

# Brokers of 4.9 refuse access by SYSTEM_ERROR with the name of this Java exception.
_REFUSED_ACCESS: Final = "AclException"


class Found(Enum):
    """The outcome of a pull."""

    MESSAGES = "messages"
    NOTHING_MATCHES = "no message that the broker examined passes the filter"
    NOT_YET = "the queue ends at the requested offset, or before"
    GONE = "the queue begins after the requested offset"
    AGAIN = "the broker examined nothing"


@dataclass(frozen=True, slots=True)
class Pulled:
    """The response to a pull, interpreted."""

    found: Found
    next_offset: int
    minimum: int
    maximum: int
    body: bytes = b""


def request(
    queue: MessageQueue,
    group: str,
    subscription: Subscription | None,
    bytes_max: int,
) -> dict[str, str]:
    """Return the fields that all pulls of one read share."""
    header = PullMessageRequest(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=0,
        max_msg_nums=0,
        sys_flag=_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription=tags.ALL if subscription is None else subscription.data.sub_string,
        sub_version=0,
        expression_type=(
            EXPRESSION_TAG if subscription is None else subscription.data.expression_type
        ),
        max_msg_bytes=bytes_max,
        broker_name=queue.broker_name,
    )
    return {**header.encode(), BULK_FIELD: "true"}


def at(fields: Mapping[str, str], offset: int, count: int) -> Command:
    """Return the pull of `count` messages from this offset on."""
    ext = {**fields, "queueOffset": str(offset), "maxMsgNums": str(count)}
    return Command(RequestCode.PULL_MESSAGE, ext=ext)


def is_passing(error: BrokerError) -> bool:
    """Whether a retry may succeed. A refusal by access control that 4.9 sends as an internal error
    is permanent."""
    return error.code in _PASSING and _REFUSED_ACCESS not in error.remark


def read(answer: Command, address: str, asked: int, *, is_filtered: bool) -> Pulled:
    """Interpret the response to a pull from `asked` on; raises BrokerError and RemoteError."""
    code = answer.code
    if code not in {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }:
        raise BrokerError(code, answer.remark, address)
    place = PullMessageResponse.decode(answer.ext)
    found, following, minimum = Found.AGAIN, place.next_begin_offset, place.min_offset
    if code == ResponseCode.SUCCESS:
        found = Found.MESSAGES
        first = _first_offset(answer.body)
        if following <= asked or first < asked:
            raise RemoteError(
                f"{address} answered a pull of message {asked} with message {first}, to continue"
                f" at {following}"
            )
        if first > asked and not is_filtered:
            found, minimum = Found.GONE, first
    elif code == ResponseCode.PULL_RETRY_IMMEDIATELY:
        if following > asked:
            found = Found.NOTHING_MATCHES if is_filtered else Found.GONE
            minimum = minimum if is_filtered else max(minimum, following)
    elif asked < minimum:
        found = Found.GONE
    elif asked >= place.max_offset:
        found = Found.NOT_YET
    return Pulled(found, following, minimum, place.max_offset, answer.body)


def _first_offset(body: bytes) -> int:
    """Return the queue offset of the body's first message."""
    if len(body) < RECORD_BYTES_MIN:
        raise RemoteError(
            f"a pull was answered with {len(body)} bytes, which are too few for a message"
        )
    return int.from_bytes(body[QUEUE_OFFSET_POSITION : QUEUE_OFFSET_POSITION + 8], signed=True)
