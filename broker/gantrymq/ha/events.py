"""What the ends of a replication connection tell their skin. An `Ended` is always the last one.

Those that come with each message are tuples: a dataclass takes several times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Ending(Enum):
    """Why a connection ended. The values are the words in logs."""

    CLOSED = "closed"
    """By the other side, by the network, or because we stop."""
    GARBAGE = "garbage"
    SILENT = "silent"
    AHEAD = "ahead"
    """The slave has what the master does not have."""
    TOO_FAR_BEHIND = "too_far_behind"
    """The slave needs what the master has no more."""
    DIVERGED = "diverged"
    """What the master sends does not continue the slave's log."""
    DISK = "disk"
    """The log cannot be read here, or not be written."""
    REFUSED = "refused"
    """A member does not want the other one, and has said why."""
    UNPROVEN = "unproven"
    """The other side did not prove that it belongs to the group, or came without TLS."""
    REPLACED = "replaced"
    """The same member has come by another connection."""


class Acknowledged(NamedTuple):
    """The slave has the log below this position."""

    position: int


class Copied(NamedTuple):
    """Bytes of the master's log, which continue what came before."""

    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The skin must close the connection; `text` says why, and what helps."""

    ending: Ending
    text: str


FollowerEvent = Acknowledged | Ended
FollowingEvent = Copied | Ended
