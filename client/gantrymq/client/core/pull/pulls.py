"""Encodes pull requests of one queue, chooses the broker to ask, and decodes the responses.

    sysFlag bits   0 the request commits an offset    1 the broker may hold it until a message
                   arrives    2 it contains the filter    3 the filter is a class    4 lite pull
    response       0 found    19 nothing new    20 nothing that matches    21 no such offset
                   215 later: the broker is busy       any other code raises BrokerError

Each response says which member of the group to ask next: a slave, while the consumer is far behind.
Offsets are committed (bit 0) at masters only.

Invariant: `next_offset` passes a message only if the message is in the result or does not match the
subscription. Therefore a damaged record raises CorruptionError, and the queue visibly stalls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.bounds import INT_MAX
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.message.record import decode_all

COMMIT_OFFSET: Final = 1
SUSPEND: Final = 2
SUBSCRIPTION: Final = 4
CLASS_FILTER: Final = 8
LITE: Final = 16

# 5.x clients set this when they pull for the application rather than for a listener.
_STREAM: Final = 0


class PullStatus(Enum):
    """The result of a pull."""

    FOUND = 0
    """Messages were found; the list may be empty if only their tags' hashes matched."""
    NO_NEW = 19
    NO_MATCHED = 20
    OFFSET_ILLEGAL = 21
    """The offset is outside of the queue: continue at `next_offset`."""
    FLOW_CONTROL = 215
    """The broker is busy: retry a little later."""


_STATUSES: Final = {status.value: status for status in PullStatus}
_FOUND: Final = PullStatus.FOUND


@final
class PullResult:
    """The decoded response to a pull. Hot path, hence slotted; treat it as immutable."""

    __slots__ = ("bytes", "max_offset", "messages", "min_offset", "next_offset", "status")

    def __init__(
        self,
        status: PullStatus,
        next_offset: int,
        min_offset: int,
        max_offset: int,
        messages: list[ReceivedMessage],
        size: int = 0,
    ) -> None:
        self.bytes = size
        """Bytes of the received records, including those that do not match the subscription."""
        self.status = status
        self.next_offset = next_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.messages = messages

    def __repr__(self) -> str:
        return (
            f"PullResult({self.status.name}, next {self.next_offset} of {self.min_offset} to"
            f" {self.max_offset}, {len(self.messages)} messages)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSettings:
    """The settings of pulls; the defaults are a push consumer's."""

    count: int = 32
    """Maximum number of messages per response."""
    bytes_max: int = 256 << 10
    """Maximum bytes of records per response, respected by 5.x brokers only. A larger record comes
    alone."""
    hold_s: float = 15.0
    """How long a broker may hold a pull that finds nothing."""
    timeout_s: float = 30.0
    sends_filter: bool = False
    """Whether each pull contains the filter; otherwise the broker uses the last heartbeat."""


LITE_SETTINGS: Final = PullSettings(
    count=10, bytes_max=INT_MAX, hold_s=20.0, timeout_s=30.0, sends_filter=True
)


@final
class QueuePulls:
    """Pull requests of one queue for one group. Pull sequentially, because each response says which
    broker to ask next."""

    __slots__ = (
        "_code",
        "_flags",
        "_instance",
        "_template",
        "broker_id",
        "group",
        "queue",
        "settings",
        "subscription",
    )

    def __init__(
        self,
        instance: Instance,
        group: str,
        queue: MessageQueue,
        subscription: Subscription,
        settings: PullSettings = PullSettings(),
        *,
        is_lite: bool = False,
    ) -> None:
        self.group = group
        self.queue = queue
        self.settings = settings
        self.broker_id = MASTER_ID
        """The broker id to ask next."""
        self._instance = instance
        self._code = RequestCode.LITE_PULL_MESSAGE if is_lite else RequestCode.PULL_MESSAGE
        self._flags = (SUBSCRIPTION if settings.sends_filter else 0) | (LITE if is_lite else 0)
        self.subscribe(subscription)

    def subscribe(self, subscription: Subscription) -> None:
        """Use this subscription from the next pull on."""
        data, settings, queue = subscription.data, self.settings, self.queue
        is_lite = bool(self._flags & LITE)
        is_by_tags = data.expression_type == EXPRESSION_TAG
        self.subscription = subscription
        # Encoded once: a new header for each pull would cost as much as ten messages.
        self._template = PullMessageRequest(
            consumer_group=self.group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=0,
            max_msg_nums=settings.count,
            sys_flag=0,
            commit_offset=0,
            suspend_timeout_millis=round(settings.hold_s * 1000),
            subscription=data.sub_string if settings.sends_filter else None,
            sub_version=0 if is_lite and is_by_tags else data.sub_version,
            expression_type=data.expression_type,
            max_msg_bytes=settings.bytes_max,
            request_type=_STREAM if is_lite else None,
            broker_name=queue.broker_name,
        ).encode()

    async def pull(
        self, offset: int, *, commit_offset: int | None = None, may_hold: bool = True
    ) -> PullResult:
        """Pull messages from this offset on; the request also commits `commit_offset`, if given."""
        queue, instance = self.queue, self._instance
        member = instance.routes.member(queue.broker_name, self.broker_id)
        if member is None:
            member = await instance.found_member(queue.broker_name, queue.topic, self.broker_id)
        address, broker_id = member
        flags = self._flags | (SUSPEND if may_hold else 0)
        if commit_offset is not None and commit_offset > 0 and broker_id == MASTER_ID:
            flags |= COMMIT_OFFSET
        ext = {
            **self._template,
            "queueOffset": str(offset),
            "commitOffset": str(commit_offset or 0),
            "sysFlag": str(flags),
        }
        timeout_s = self.settings.timeout_s
        answer = await Ask(address, Command(self._code, ext=ext), timeout_s)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED and self._flags & LITE:
            self._code = RequestCode.PULL_MESSAGE  # a broker older than 5.0
            answer = await Ask(address, Command(self._code, ext=ext), timeout_s)
        return self._read(answer, address, offset)

    def _read(self, answer: Command, address: str, offset: int) -> PullResult:
        status = _STATUSES.get(answer.code)
        if status is None:
            raise BrokerError(answer.code, answer.remark, address)
        if status is PullStatus.FLOW_CONTROL:
            return PullResult(status, offset, 0, 0, [])
        self.broker_id, next_offset, low, high = _place(answer.ext)
        messages: list[ReceivedMessage] = []
        if status is _FOUND:
            messages = received(answer.body, self.queue, self.subscription, (low, high))
        return PullResult(status, next_offset, low, high, messages, len(answer.body))


def received(
    body: bytes, queue: MessageQueue, subscription: Subscription, bounds: tuple[int, int]
) -> list[ReceivedMessage]:
    """Decode the messages of a body that match the subscription. Hot path."""
    records = decode_all(body)
    if subscription.tags:
        wants = subscription.wants
        records = [record for record in records if wants(record.properties)]
    return [ReceivedMessage(record, queue, bounds) for record in records]


def _place(ext: Mapping[str, str] | None) -> tuple[int, int, int, int]:
    """Return the broker id to ask next, the next offset, and the queue's bounds."""
    fields = ext or {}
    try:
        return (
            int(fields["suggestWhichBrokerId"]),
            int(fields["nextBeginOffset"]),
            int(fields["minOffset"]),
            int(fields["maxOffset"]),
        )
    except (KeyError, ValueError):
        said = PullMessageResponse.decode(fields)  # raises and names the wrong field
        return (
            said.suggest_which_broker_id,
            said.next_begin_offset,
            said.min_offset,
            said.max_offset,
        )
