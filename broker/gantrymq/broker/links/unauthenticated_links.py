"""Bounds the connections to the HA port that have not proved themselves yet.

They are counted apart from those of slaves and members, and there are `UNPROVEN_MAX` at most. One
more closes the oldest connection of the address that has most of them: an attacker that connects
over and over from one address closes its own connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, Generic, Protocol, TypeVar, final

# A group has a handful of brokers, and each proves itself within milliseconds.
UNPROVEN_MAX: Final = 64


class Connection(Protocol):
    """The part of a connection that is needed here."""

    @property
    def host(self) -> str:
        """The peer's address, without the port."""


C = TypeVar("C", bound=Connection)


@final
class UnauthenticatedLinks(Generic[C]):
    """The unproven connections of one port, oldest first."""

    __slots__ = ("_connections",)

    def __init__(self) -> None:
        self._connections: dict[C, None] = {}

    def all(self) -> Collection[C]:
        return tuple(self._connections)

    def add(self, connection: C) -> C | None:
        """Add a connection. Returns the one that has to be closed in exchange, already removed;
        None if the limit is not reached."""
        self._connections[connection] = None
        if len(self._connections) <= UNPROVEN_MAX:
            return None
        counts = Counter(each.host for each in self._connections)
        most = max(counts.values())
        crowded = next(each for each in self._connections if counts[each.host] == most)
        del self._connections[crowded]
        return crowded

    def remove(self, connection: C) -> bool:
        """Remove a connection that has proved itself or ended; returns whether it was present."""
        if connection not in self._connections:
            return False
        del self._connections[connection]
        return True
