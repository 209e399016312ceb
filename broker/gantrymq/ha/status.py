"""What a broker can tell of its replication, and the one thing it can ask of it.

The requests and machines of the broker see no more of replication than this. Who follows us and
whom we follow may change at any time: each answer is of the moment it was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final


@final
@dataclass(frozen=True, slots=True)
class FollowerStatus:
    """A slave that is connected to us."""

    address: str
    """`ip:port` as we see its end of the connection."""
    acknowledged: int
    """It has the log below this position."""
    behind_bytes: int
    """How much of our log it does not have."""
    bytes_per_second: int
    is_in_sync: bool
    """Whether it is no further behind than haMaxGapNotInSync."""


@final
@dataclass(frozen=True, slots=True)
class FollowingStatus:
    """The master that we are told to follow."""

    master: str
    """Its HA address, `host:port`."""
    position: int
    """Where our log ends."""
    last_read_ms: int
    """Wall clock of the last byte that came from it; 0: none yet."""
    last_write_ms: int
    """Wall clock of the last report we sent it; 0: none yet."""
    bytes_per_second: int


class Replication(Protocol):
    """Of one broker, whichever its role."""

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        """Who is connected and has reported."""

    def following(self) -> FollowingStatus | None:
        """None when we follow nobody."""

    def follow(self, address: str) -> None:
        """Follow the master at this HA address from now on, `host:port`; "" is nobody. The same
        address once more changes nothing."""


@final
class _Nobody:
    """A broker that is alone."""

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return ()

    def following(self) -> FollowingStatus | None:
        return None

    def follow(self, address: str) -> None:
        return None


NOBODY: Final[Replication] = _Nobody()
"""Of a broker that neither has nor is a slave."""
