"""Accounts for the memory that one server holds for its peers, by kind, connection and address.

    add(holder, kind, more)      the server holds so many more bytes for this connection, or fewer
    set_table(kind, size)        bytes held for no connection in particular, such as topics
    overrun(holder, kind, more)  why that would be too much, and which setting says so; the caller
                                 refuses the request or disconnects `largest`

The account counts and compares; it refuses and closes nothing itself. There is one limit for
everything. Each kind, each connection and each address has a share of it, so that none of them can
take all; the shares of the kinds add up to more than the limit.

Invariant: the sums over kinds, connections and addresses agree. A connection that is written off
counts in none of them, because it is being closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, Protocol, final

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.base.peer_address import counted_address

# The default share of the server's memory: an empty server needs 60 MiB, bodies are copied once,
# and input buffers of frames stay in memory as garbage for a while.
MEMORY_SHARE: Final = (3, 8)

# Enough for a few of the largest frames in a small container.
LIMIT_MIN: Final = 96 << 20

# 10 000 connections with 100 KiB each. More memory is better used by the page cache.
LIMIT_MAX: Final = 1 << 30

# A lower limit would refuse ordinary requests.
SETTING_MIN: Final = 32 << 20

SETTING: Final = "maxPeerMemory"


class Holder(Protocol):
    """A connection for which a server holds memory. Compared by identity."""

    @property
    def peer(self) -> str:
        """`ip:port` of the other end."""


class Kind(IntEnum):
    """The kinds of memory."""

    CONNECTIONS = 0
    """Incomplete frames and handshakes, output that the peer has not read, and TLS state."""
    WAITING_REQUESTS = 1
    """Requests that wait to be served."""
    BODIES = 2
    """Bodies of requests that wait for the store, a replica, a client or a file."""
    PULLS = 3
    """Pulls that wait for messages."""
    POPS = 4
    """Pops and notifications that wait for messages."""
    CLIENTS = 5
    """Contents of heartbeats: members of groups and their subscriptions."""
    TABLES = 6
    """Topics and groups."""
    ROUTES = 7
    """Registrations of brokers at a name server."""


# Counting the members of an enum takes as long as the rest of making a new share.
_KINDS: Final = len(Kind)

LABELS: Final[Mapping[Kind, str]] = {
    Kind.CONNECTIONS: "connections",
    Kind.WAITING_REQUESTS: "waiting requests",
    Kind.BODIES: "request bodies",
    Kind.PULLS: "held pulls",
    Kind.POPS: "waiting pops",
    Kind.CLIENTS: "clients",
    Kind.TABLES: "topics and groups",
    Kind.ROUTES: "routes",
}

# The limit of each kind, in eighths of the whole limit.
_EIGHTHS: Final[Mapping[Kind, int]] = {
    Kind.CONNECTIONS: 4,
    Kind.WAITING_REQUESTS: 2,
    Kind.BODIES: 3,
    Kind.PULLS: 1,
    Kind.POPS: 1,
    Kind.CLIENTS: 2,
    Kind.TABLES: 2,
    Kind.ROUTES: 4,
}

# The limits of one connection and of one address. Many clients may share an address, behind a
# gateway.
_CONNECTION_EIGHTHS: Final = 2
_ADDRESS_EIGHTHS: Final = 4

# A share has room for one frame of maximal length, with its overhead.
SHARE_MIN: Final = FRAME_BYTES_MAX + (64 << 10)


class Scope(Enum):
    """Which share would be exceeded."""

    CONNECTION = "this connection"
    ADDRESS = "all connections of this address"
    ALL = "all connections"


@final
@dataclass(frozen=True, slots=True)
class Overrun:
    """Why no more memory is held."""

    scope: Scope
    text: str


@final
class _Share:
    """The memory held for one connection."""

    __slots__ = ("address", "is_written_off", "kinds", "total")

    def __init__(self, address: str) -> None:
        self.address: str = address
        self.kinds: list[int] = [0] * _KINDS
        self.total: int = 0
        self.is_written_off: bool = False


def limit_of(setting: int, memory_bytes: int) -> int:
    """The limit of a server that may use `memory_bytes`; a setting of 0 means the default."""
    if setting:
        return max(setting, SETTING_MIN)
    numerator, denominator = MEMORY_SHARE
    return max(LIMIT_MIN, min(LIMIT_MAX, memory_bytes * numerator // denominator))


@final
class MemoryAccount:
    """The account. The server's assembly owns it; every component that holds memory adds to it."""

    __slots__ = (
        "_addresses",
        "_held",
        "_kinds",
        "_limits",
        "_shares",
        "address_limit",
        "connection_limit",
        "limit",
    )

    def __init__(self, limit: int, share_min: int = SHARE_MIN) -> None:
        self.limit: int = limit
        self.address_limit: int = max(share_min, limit * _ADDRESS_EIGHTHS // 8)
        self.connection_limit: int = max(share_min, limit * _CONNECTION_EIGHTHS // 8)
        self._limits: list[int] = [max(share_min, limit * _EIGHTHS[kind] // 8) for kind in Kind]
        self._held: int = 0
        self._kinds: list[int] = [0] * _KINDS
        self._shares: dict[Holder, _Share] = {}
        self._addresses: dict[str, int] = {}

    @property
    def held(self) -> int:
        """The bytes held in all."""
        return self._held

    def held_of(self, kind: Kind) -> int:
        """The bytes of this kind."""
        return self._kinds[kind]

    def limit_of(self, kind: Kind) -> int:
        """The limit of this kind, in bytes."""
        return self._limits[kind]

    @property
    def is_full(self) -> bool:
        """Whether more is held in all than the limit."""
        return self._held > self.limit

    def is_over(self, kind: Kind, spare: float = 0.0) -> bool:
        """Whether this kind, or all kinds together, exceed the limit reduced by the share
        `spare`."""
        share = 1.0 - spare
        return self._kinds[kind] > self._limits[kind] * share or self._held > self.limit * share

    def held_for(self, holder: Holder) -> int:
        """The bytes held for this connection."""
        share = self._shares.get(holder)
        return 0 if share is None else share.total

    # ------------------------------------------------------------------ counting

    def add(self, holder: Holder, kind: Kind, more: int) -> None:
        """Count `more` bytes for this connection; negative for fewer."""
        share = self._shares.get(holder)
        if share is None:
            share = self._shares[holder] = _Share(counted_address(holder.peer))
        share.kinds[kind] += more
        share.total += more
        assert share.kinds[kind] >= 0, f"less than nothing is kept of {LABELS[kind]}"
        if not share.is_written_off:
            self._count(share.address, kind, more)
        if not share.total:
            del self._shares[holder]

    def set_table(self, kind: Kind, size: int) -> None:
        """Set the bytes of this kind that belong to no connection in particular.

        They may have been stored before the start under a higher limit, so the part beyond the
        kind's share does not reduce the room of other kinds.
        """
        limit = self._limits[kind]
        self._held += min(size, limit) - min(self._kinds[kind], limit)
        self._kinds[kind] = size

    def write_off(self, holder: Holder) -> None:
        """Stop counting a connection, because it is being closed."""
        share = self._shares.get(holder)
        if share is None or share.is_written_off:
            return
        for kind in Kind:
            self._count(share.address, kind, -share.kinds[kind])
        share.is_written_off = True

    def _count(self, address: str, kind: Kind, more: int) -> None:
        self._held += more
        self._kinds[kind] += more
        held = self._addresses.get(address, 0) + more
        if held:
            self._addresses[address] = held
        else:
            self._addresses.pop(address, None)

    # ------------------------------------------------------------------ comparing

    def overrun(self, holder: Holder | None, kind: Kind, more: int) -> Overrun | None:
        """Why `more` bytes for this connection would be too many; None if they are not.

        Without a holder, the bytes belong to no connection in particular.
        """
        if self._kinds[kind] + more > self.limit_of(kind):
            return self._overrun(Scope.ALL, LABELS[kind], self._kinds[kind], self.limit_of(kind))
        if self._held + more > self.limit:
            return self._overrun(Scope.ALL, "whatever is kept", self._held, self.limit)
        if holder is None:
            return None
        held = self._addresses.get(counted_address(holder.peer), 0)
        if held + more > self.address_limit:
            return self._overrun(Scope.ADDRESS, "whatever is kept", held, self.address_limit)
        held = self.held_for(holder)
        if held + more > self.connection_limit:
            return self._overrun(Scope.CONNECTION, "whatever is kept", held, self.connection_limit)
        return None

    def _overrun(self, scope: Scope, what: str, held: int, limit: int) -> Overrun:
        return Overrun(
            scope,
            f"{what} for {scope.value} takes {held} bytes of memory, {limit} are allowed by"
            f" {SETTING}={self.limit}",
        )

    def largest(self, address: str | None = None) -> Holder | None:
        """The connection with the most bytes of this address, by default of the address with the
        most.

        None if nothing is held for any connection.
        """
        if address is None:
            address = max(self._addresses, key=lambda each: self._addresses[each], default=None)
        found: Holder | None = None
        most = 0
        for holder, share in self._shares.items():
            if share.address == address and share.total > most and not share.is_written_off:
                found, most = holder, share.total
        return found
