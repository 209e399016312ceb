"""Implements pop requests, by which brokers deliver messages with an invisible time.

A broker redelivers a message that is not acknowledged before its invisible time ends.

    handle   startOffset popTime invisibleTime reviveQueue kind brokerName queueId offset
    kind     0 the topic itself, 1 %RETRY%group_topic, 2 %RETRY%group+topic

A message from a retry topic carries its handle in POP_CK. For other messages the handle is built
from the response's startOffsetInfo ("kind queueId startOffset;..."), as Java's clients do.

Invariant: each message is acknowledged with its newest handle; an older one refers to an earlier
delivery.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, final

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.bounds import ABOVE_0, must_fit, within
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    ChangeInvisibleTimeResponse,
    PopMessageRequest,
    PopMessageResponse,
)
from gantrymq.wire.jsonvalue import Json, JsonObject
from gantrymq.wire.message.properties import get
from gantrymq.wire.message.property_names import POP_CK
from gantrymq.wire.message.record import Record, decode_all

RETRY_PREFIX: Final = "%RETRY%"
ANY_QUEUE: Final = -1

# Maximum number of messages per response.
COUNT_MAX: Final = 32

# Time for the response after the broker's hold time; Java's.
ANSWER_S: Final = 10.0

# Maximum number of bits of one batch acknowledgement; offsets of one pop lie close together.
_BITS_MAX: Final = 1 << 16

_NOTHING: Final = frozenset(
    {ResponseCode.POLLING_TIMEOUT, ResponseCode.POLLING_FULL, ResponseCode.PULL_NOT_FOUND}
)


@dataclass(frozen=True, slots=True)
class Handle:
    """The receipt handle of one delivery, needed to acknowledge it."""

    start: int
    pop_ms: int
    invisible_ms: int
    revive_queue: int
    kind: str
    broker_name: str
    queue_id: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> Self:
        parts = text.split(" ")
        try:
            start, pop_ms, invisible_ms, revive, kind, broker_name, queue_id, offset = parts
            return cls(
                int(start),
                int(pop_ms),
                int(invisible_ms),
                int(revive),
                kind,
                broker_name,
                int(queue_id),
                int(offset),
            )
        except ValueError as error:
            raise RemoteError(f"{text[:200]!r} is no handle of a popped message") from error

    def __str__(self) -> str:
        return (
            f"{self.start} {self.pop_ms} {self.invisible_ms} {self.revive_queue} {self.kind}"
            f" {self.broker_name} {self.queue_id} {self.offset}"
        )

    def topic(self, group: str, topic: str) -> str:
        """Return the topic that stores the message: the topic itself or a retry topic."""
        if self.kind == "0":
            return topic
        return f"{RETRY_PREFIX}{group}{'_' if self.kind == '1' else '+'}{topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PopSettings:
    """The settings of a pop consumer."""

    count: int = COUNT_MAX
    invisible_s: float = 60.0
    """How long a delivered message is invisible to other consumers."""
    hold_s: float = 15.0
    """How long a broker may hold a pop that finds nothing."""
    from_first: bool = False
    """Whether a new group begins with the oldest message; if False, with messages sent from now
    on."""

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)


_BOUNDS: Final = {
    "count": within(1, COUNT_MAX),
    "invisible_s": ABOVE_0,
    "hold_s": ABOVE_0,
}


@final
@dataclass(slots=True)
class Out:
    """An in-flight message: it is redelivered unless it is acknowledged by `due_ms`."""

    message: ReceivedMessage
    handle: Handle
    due_ms: int
    """By this machine's clock, counted from the request: early rather than late."""


@final
class Pops:
    """Pop requests of one group for one topic."""

    def __init__(
        self, instance: Instance, group: str, subscription: Subscription, settings: PopSettings
    ) -> None:
        self.topic = subscription.topic
        self._instance = instance
        self._group = group
        self._subscription = subscription
        self._settings = settings

    async def pop(self, broker_name: str, *, hold_s: float | None = None) -> list[Out]:
        """Pop from all queues of a broker. Raises BrokerError, RequestError, RouteError,
        CorruptionError."""
        settings, data = self._settings, self._subscription.data
        wait_s = settings.hold_s if hold_s is None else hold_s
        asked_ms = self._instance.ports.clock.wall_ms()
        header = PopMessageRequest(
            consumer_group=self._group,
            topic=self.topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=settings.count,
            invisible_time=round(settings.invisible_s * 1000),
            poll_time=round(wait_s * 1000),
            born_time=asked_ms,
            init_mode=0 if settings.from_first else 1,
            exp_type=data.expression_type,
            exp=data.sub_string,
            order=False,
            broker_name=broker_name,
        )
        address = await self._address(broker_name)
        command = Command(RequestCode.POP_MESSAGE, ext=header.encode())
        answer = await Ask(address, command, wait_s + ANSWER_S)
        if answer.code in _NOTHING:
            return []
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, address)
        return self._read(answer, broker_name, asked_ms)

    def _read(self, answer: Command, broker_name: str, asked_ms: int) -> list[Out]:
        said = PopMessageResponse.decode(answer.ext)
        starts = _starts(said.start_offset_info or "")
        due_ms = asked_ms + said.invisible_time
        out = []
        for record in decode_all(answer.body):
            known = get(record.properties, POP_CK)
            handle = Handle.parse(known) if known else _handle(record, said, starts, broker_name)
            queue = MessageQueue(self.topic, broker_name, handle.queue_id)
            out.append(Out(ReceivedMessage(record, queue), handle, due_ms))
        return out

    # ------------------------------------------------------------------ acknowledging

    async def ack(self, out: Out) -> None:
        """Acknowledge a message; raises if the broker does not confirm it."""
        handle = out.handle
        header = AckMessageRequest(
            consumer_group=self._group,
            topic=handle.topic(self._group, self.topic),
            queue_id=handle.queue_id,
            extra_info=str(handle),
            offset=handle.offset,
            broker_name=handle.broker_name,
        )
        await self._done(handle.broker_name, RequestCode.ACK_MESSAGE, header.encode())

    async def ack_all(self, out: Sequence[Out]) -> None:
        """Acknowledge many messages with one request per broker (5.x)."""
        by_broker: dict[str, list[Out]] = {}
        for each in out:
            by_broker.setdefault(each.handle.broker_name, []).append(each)
        for broker_name, theirs in by_broker.items():
            body: JsonObject = {"acks": self._acks(theirs), "brokerName": broker_name}
            data = javajson.dumps_fastjson(body)
            await self._done(broker_name, RequestCode.BATCH_ACK_MESSAGE, {}, data)

    def _acks(self, out: Sequence[Out]) -> list[Json]:
        bits: dict[Handle, int] = {}
        for each in out:
            distance = each.handle.offset - each.handle.start
            start = each.handle.start
            if not 0 <= distance < _BITS_MAX:
                start, distance = each.handle.offset, 0
            key = replace(each.handle, start=start, offset=0)
            bits[key] = bits.get(key, 0) | 1 << distance
        return [
            {
                "b": b64encode(some.to_bytes((some.bit_length() + 7) // 8, "little")).decode(),
                "c": self._group,
                "it": handle.invisible_ms,
                "pt": handle.pop_ms,
                "q": handle.queue_id,
                "r": handle.kind,
                "rq": handle.revive_queue,
                "so": handle.start,
                "t": self.topic,
            }
            for handle, some in bits.items()
        ]

    async def keep(self, out: Out, seconds: float) -> None:
        """Keep a message invisible for `seconds` from now; 0 makes it visible at once."""
        handle = out.handle
        asked_ms = self._instance.ports.clock.wall_ms()
        header = ChangeInvisibleTimeRequest(
            consumer_group=self._group,
            topic=handle.topic(self._group, self.topic),
            queue_id=handle.queue_id,
            extra_info=str(handle),
            offset=handle.offset,
            invisible_time=round(seconds * 1000),
            broker_name=handle.broker_name,
        )
        code = RequestCode.CHANGE_MESSAGE_INVISIBLETIME
        answer = await self._done(handle.broker_name, code, header.encode())
        said = ChangeInvisibleTimeResponse.decode(answer.ext)
        out.handle = replace(
            handle,
            pop_ms=said.pop_time,
            invisible_ms=said.invisible_time,
            revive_queue=said.revive_qid,
        )
        out.due_ms = asked_ms + said.invisible_time

    async def _done(
        self, broker_name: str, code: RequestCode, ext: dict[str, str], body: bytes = b""
    ) -> Command:
        address = await self._address(broker_name)
        timeout_s = self._instance.settings.api_timeout_s
        return await success(address, Command(code, ext=ext, body=body), timeout_s)

    async def _address(self, broker_name: str) -> str:
        return await self._instance.found_master(broker_name, self.topic)


def _starts(info: str) -> dict[tuple[str, int], int]:
    """Parse startOffsetInfo into start offsets by kind and queue."""
    try:
        entries = [entry.split(" ") for entry in info.split(";") if entry]
        return {(kind, int(queue_id)): int(start) for kind, queue_id, start in entries}
    except ValueError as error:
        raise RemoteError(f"startOffsetInfo {info[:200]!r} is none") from error


def _handle(
    record: Record,
    said: PopMessageResponse,
    starts: Mapping[tuple[str, int], int],
    broker_name: str,
) -> Handle:
    kind = "1" if record.topic.startswith(RETRY_PREFIX.encode()) else "0"
    return Handle(
        starts.get((kind, record.queue_id), record.queue_offset),
        said.pop_time,
        said.invisible_time,
        said.revive_qid,
        kind,
        broker_name,
        record.queue_id,
        record.queue_offset,
    )
