"""Who wants to see what a client does: what sends, consumers and requests tell, and to whom.

A hook is called where the thing happens, so it does not wait for anything; what it raises is logged
and changes nothing (a request hook's refuses the request). One object may be several of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol, runtime_checkable

from gantrymq.client.core.message import Message
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.results import SendResult
from gantrymq.client.core.safe_text import text_of
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.command import Command


class MessageKind(IntEnum):
    """Java's MessageType; traces hold the number."""

    NORMAL = 0
    HALF = 1
    COMMIT = 2
    DELAYED = 3

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class SendContext:
    """One try to send one message, or one batch of them."""

    group: str
    messages: Sequence[Message]
    message_ids: Sequence[str]
    queue: MessageQueue
    address: str
    kind: MessageKind
    began_ms: int
    """By the calendar; `cost_ms` is measured."""
    body_bytes: int = 0
    cost_ms: int = 0
    result: SendResult | None = None
    error: Exception | None = None
    notes: dict[str, object] = field(default_factory=dict)
    """What hooks keep from before to after."""


@dataclass(slots=True)
class ConsumeContext:
    """One call of a listener."""

    group: str
    queue: MessageQueue
    messages: Sequence[ReceivedMessage]
    began_ms: int
    cost_ms: int = 0
    is_success: bool = False
    outcome: int = 0
    """Java's ConsumeReturnType: 0 success, 1 timed out, 2 raised, 3 returned nothing, 4 failed."""
    notes: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndContext:
    """How a transaction was ended."""

    group: str
    topic: str
    message_id: str
    tags: str
    keys: str
    transaction_id: str
    address: str
    state: str
    is_from_check: bool
    at_ms: int


class SendHook(Protocol):
    """Around each try of a send."""

    def before_send(self, context: SendContext) -> None: ...

    def after_send(self, context: SendContext) -> None: ...


class ConsumeHook(Protocol):
    """Around each call of a listener."""

    def before_consume(self, context: ConsumeContext) -> None: ...

    def after_consume(self, context: ConsumeContext) -> None: ...


@runtime_checkable
class EndHook(Protocol):
    """After each end of a transaction."""

    def after_end(self, context: EndContext) -> None: ...


class RequestHook(Protocol):
    """Around each request to a server. `before_request` may add to the command's ext."""

    def before_request(self, address: str, command: Command) -> None: ...

    def after_response(self, address: str, command: Command, response: Command) -> None: ...


def call_all(
    calls: Iterable[Callable[[], None]],
    log: Callable[[str], None],
) -> None:
    """Every one of them, whatever the others do."""
    for call in calls:
        try:
            call()
        except Exception as error:
            log(f"a hook raised {text_of(error)}; it was passed over")
