"""Defines hooks that observe sends, consumption, transactions and requests of a client.

Hooks run synchronously, so they must not block. An exception of a hook is logged and has no other
effect, except that a request hook's exception refuses the request. One object may implement several
kinds of hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol, runtime_checkable

from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.safe_text import text_of
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.command import Command


class MessageKind(IntEnum):
    """Java's MessageType; traces contain the number."""

    NORMAL = 0
    HALF = 1
    COMMIT = 2
    DELAYED = 3

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class SendContext:
    """One attempt to send a message or a batch."""

    group: str
    messages: Sequence[Message]
    message_ids: Sequence[str]
    queue: MessageQueue
    address: str
    kind: MessageKind
    began_ms: int
    """Wall clock time; `cost_ms` comes from the monotonic clock."""
    body_bytes: int = 0
    cost_ms: int = 0
    result: SendResult | None = None
    error: Exception | None = None
    notes: dict[str, object] = field(default_factory=dict)
    """Values that hooks pass from `before_send` to `after_send`."""


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
    """The end of one transaction: commit or rollback."""

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
    """Called before and after each attempt of a send."""

    def before_send(self, context: SendContext) -> None: ...

    def after_send(self, context: SendContext) -> None: ...


class ConsumeHook(Protocol):
    """Called before and after each call of a listener."""

    def before_consume(self, context: ConsumeContext) -> None: ...

    def after_consume(self, context: ConsumeContext) -> None: ...


@runtime_checkable
class EndHook(Protocol):
    """Called after each end of a transaction."""

    def after_end(self, context: EndContext) -> None: ...


class RequestHook(Protocol):
    """Called around each request to a server. `before_request` may add fields to the command's
    ext."""

    def before_request(self, address: str, command: Command) -> None: ...

    def after_response(self, address: str, command: Command, response: Command) -> None: ...


def call_all(
    calls: Iterable[Callable[[], None]],
    log: Callable[[str], None],
) -> None:
    """Run every call; exceptions are logged and do not stop the remaining calls."""
    for call in calls:
        try:
            call()
        except Exception as error:
            log(f"a hook raised {text_of(error)}; it was passed over")
