"""Pulls of one queue: what is asked, whom, and what the answer means.

    sysFlag bits   0 the request commits an offset    1 the broker may hold it until there is news
                   2 it brings the filter             3 the filter is a class    4 a lite pull
    answer         0 found    19 nothing new    20 nothing that matches    21 no such offset
                   215 later: the broker is busy       anything else is a BrokerError

The broker says which member to ask the next time: a replica, while much lies behind. What bit 0
commits goes to masters alone.

Invariant: `next_offset` passes a message only when the message is in the result, or is not for the
group. A damaged record therefore raises CorruptionError, and the queue stands still for all to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.routes import MASTER_ID
from gantrymq.client.core.steps import Ask
from gantrymq.client.core.subscriptions import Subscription
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.jsonvalue import INT32_MAX
from gantrymq.wire.message.record import decode_all

COMMIT_OFFSET: Final = 1
SUSPEND: Final = 2
SUBSCRIPTION: Final = 4
CLASS_FILTER: Final = 8
LITE: Final = 16

# 5.x clients say so when they pull by themselves, rather than have a listener called.
_STREAM: Final = 0


class PullStatus(Enum):
    """What there was."""

    FOUND = 0
    """Messages; none is left of them where tags only had the same hash."""
    NO_NEW = 19
    NO_MATCHED = 20
    OFFSET_ILLEGAL = 21
    """The queue begins or ends elsewhere: `next_offset` is where to go on."""
    FLOW_CONTROL = 215
    """Ask again, a little later."""


_STATUSES: Final = {status.value: status for status in PullStatus}
_FOUND: Final = PullStatus.FOUND


@final
class PullResult:
    """Hot, hence slotted; treat it as a value."""

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
        """Of the records that came, those that are not for the group among them."""
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
    """How a consumer pulls; the defaults are a push consumer's."""

    count: int = 32
    """Messages at most in one answer."""
    bytes_max: int = 256 << 10
    """Of their records; only 5.x brokers heed it. A larger one still comes, alone."""
    hold_s: float = 15.0
    """How long a broker may hold a pull that finds nothing."""
    timeout_s: float = 30.0
    sends_filter: bool = False
    """Each pull brings the filter; otherwise the broker goes by the last heartbeat."""


LITE_SETTINGS: Final = PullSettings(
    count=10, bytes_max=INT32_MAX, hold_s=20.0, timeout_s=30.0, sends_filter=True
)


@final
class QueuePulls:
    """Of one queue by one group. Pull one after the other: each answer says whom to ask next."""

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
        """Whom of the queue's members to ask."""
        self._instance = instance
        self._code = RequestCode.LITE_PULL_MESSAGE if is_lite else RequestCode.PULL_MESSAGE
        self._flags = (SUBSCRIPTION if settings.sends_filter else 0) | (LITE if is_lite else 0)
        self.subscribe(subscription)

    def subscribe(self, subscription: Subscription) -> None:
        """The next pull is by this subscription."""
        data, settings, queue = subscription.data, self.settings, self.queue
        is_lite = bool(self._flags & LITE)
        is_by_tags = data.expression_type == EXPRESSION_TAG
        self.subscription = subscription
        # Made once: a header of its own for each pull would cost as much as ten messages.
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
        """Messages from this offset on; what `commit_offset` says is consumed on the way.

        Raises BrokerError, RequestError, RouteError, and CorruptionError for a damaged answer.
        """
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
            self._code = RequestCode.PULL_MESSAGE  # a broker of before 5.0
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
    """The messages of a body that are for the group. Hot."""
    records = decode_all(body)
    if subscription.tags:
        wants = subscription.wants
        records = [record for record in records if wants(record.properties)]
    return [ReceivedMessage(record, queue, bounds) for record in records]


def _place(ext: Mapping[str, str] | None) -> tuple[int, int, int, int]:
    """Whom to ask next, from where, and the queue's bounds."""
    fields = ext or {}
    try:
        return (
            int(fields["suggestWhichBrokerId"]),
            int(fields["nextBeginOffset"]),
            int(fields["minOffset"]),
            int(fields["maxOffset"]),
        )
    except (KeyError, ValueError):
        said = PullMessageResponse.decode(fields)  # raises: it knows which field is wrong
        return (
            said.suggest_which_broker_id,
            said.next_begin_offset,
            said.min_offset,
            said.max_offset,
        )
