"""Defines the events that the two ends of a replication connection report to their I/O layer.

`Ended` is always the last event of a connection. Events that occur for each message are tuples: a
dataclass takes several times as long to create.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Ending(Enum):
    """Why a connection ended. The values appear in log lines."""

    CLOSED = "closed"
    """Closed by the other side, by the network, or because this broker stops."""
    GARBAGE = "garbage"
    SILENT = "silent"
    AHEAD = "ahead"
    """The slave has log bytes that the master does not have."""
    TOO_FAR_BEHIND = "too_far_behind"
    """The slave needs log bytes that the master has already deleted."""
    DIVERGED = "diverged"
    """The bytes that the master sends do not continue the slave's log."""
    DISK = "disk"
    """The local log cannot be read or written."""
    REFUSED = "refused"
    """A member refused the other one and sent the reason."""
    UNPROVEN = "unproven"
    """The peer did not prove that it belongs to the group, or connected without TLS."""
    REPLACED = "replaced"
    """The same member has opened another connection."""


class Acknowledged(NamedTuple):
    """The slave has the log below this position."""

    position: int


class Copied(NamedTuple):
    """Bytes of the master's log that continue the bytes received before."""

    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The I/O layer must close the connection; `text` gives the reason and the remedy."""

    ending: Ending
    text: str


LogSenderEvent = Acknowledged | Ended
LogReceiverEvent = Copied | Ended
