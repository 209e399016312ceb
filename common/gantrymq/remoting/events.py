"""What a session tells its skin. Each event is a value; an `Ended` is always the last one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gantrymq.wire.command import Command


class Reason(Enum):
    """Why a connection ended. The values are the words in logs and metric labels."""

    PEER_CLOSED = "peer_closed"
    LOST = "lost"
    CLOSED_HERE = "closed_here"
    DRAINED = "drained"
    GARBAGE = "garbage"
    SLOW_FRAME = "slow_frame"
    IDLE = "idle"
    ASKED_NOTHING = "asked_nothing"
    SILENT = "silent"
    SLOW_READER = "slow_reader"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    MEMORY_BUDGET = "memory_budget"
    HANDSHAKE_FAILED = "handshake_failed"
    HANDSHAKE_SLOW = "handshake_slow"
    TLS_REQUIRED = "tls_required"
    TLS_DISABLED = "tls_disabled"

    @property
    def is_fault(self) -> bool:
        """Whether the peer broke a rule, which is worth a line in the log."""
        return self not in _PEACEFUL


_PEACEFUL = frozenset({Reason.PEER_CLOSED, Reason.LOST, Reason.CLOSED_HERE, Reason.DRAINED})


@dataclass(frozen=True, slots=True)
class Requests:
    """The peer's requests that one read brought, in their order; oneway ones among them."""

    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Answered:
    """The response to our request `opaque`."""

    opaque: int
    response: Command


@dataclass(frozen=True, slots=True)
class TimedOut:
    """No response to our request `opaque` came in its time; a late one will be ignored."""

    opaque: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The connection ended before our request `opaque` was answered; it may have been executed."""

    opaque: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ended:
    """The session is over and the skin must close the connection."""

    reason: Reason
    detail: str


Event = Requests | Answered | TimedOut | Abandoned | Ended
