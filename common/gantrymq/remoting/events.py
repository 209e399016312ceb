"""Defines the events that a session reports to its channel. An `Ended` is always the last one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gantrymq.wire.command import Command


class Reason(Enum):
    """Why a connection ended. The values are used in logs and as metric labels."""

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
        """Whether the peer broke a rule, which is logged."""
        return self not in _PEACEFUL


_PEACEFUL = frozenset({Reason.PEER_CLOSED, Reason.LOST, Reason.CLOSED_HERE, Reason.DRAINED})


@dataclass(frozen=True, slots=True)
class Requests:
    """The peer's requests of one read, in order, including oneway ones."""

    commands: list[Command]


@dataclass(frozen=True, slots=True)
class Answered:
    """The response to the request with this opaque."""

    opaque: int
    response: Command


@dataclass(frozen=True, slots=True)
class TimedOut:
    """No response came within the timeout of this request; a late one will be ignored."""

    opaque: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The connection ended before this request was answered; it may have been executed."""

    opaque: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ended:
    """The session is over; the channel must close the connection."""

    reason: Reason
    detail: str


Event = Requests | Answered | TimedOut | Abandoned | Ended
