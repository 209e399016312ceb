"""Defines how the rest of the broker queries replication and sets the master to follow.

Requests and services of the broker use only this interface. Followers and master may change at any
time: each answer describes the moment of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final


@final
@dataclass(frozen=True, slots=True)
class FollowerStatus:
    """A slave that is connected to this broker."""

    address: str
    """`ip:port` of its end of the connection, as this broker sees it."""
    acknowledged: int
    """The slave has the log below this position."""
    behind_bytes: int
    """The number of bytes of this broker's log that the slave does not have."""
    bytes_per_second: int
    is_in_sync: bool
    """Whether the slave is behind by less than haMaxGapNotInSync."""


@final
@dataclass(frozen=True, slots=True)
class FollowingStatus:
    """The master that this broker follows."""

    master: str
    """The HA address of the master, `host:port`."""
    position: int
    """The end of this broker's log."""
    last_read_ms: int
    """Wall clock of the last byte received from the master; 0 if none was received."""
    last_write_ms: int
    """Wall clock of the last report sent to the master; 0 if none was sent."""
    bytes_per_second: int


class Replication(Protocol):
    """The replication of one broker, whatever its role."""

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        """The slaves that are connected and have reported their position."""

    def following(self) -> FollowingStatus | None:
        """The master that this broker follows; None if there is none."""

    def follow(self, address: str) -> None:
        """Follow the master at this HA address from now on, `host:port`; "" means none. Passing the
        current address has no effect."""


@final
class _NoReplication:
    """The replication of a broker without master and slaves."""

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return ()

    def following(self) -> FollowingStatus | None:
        return None

    def follow(self, address: str) -> None:
        return None


NO_REPLICATION: Final[Replication] = _NoReplication()
"""For a broker that neither has nor is a slave."""
