"""Limits the connections of a server: in all, by address, and by time without a request.

a new connection
    its address has reached its limit        -> refused, unless the address is exempt
    the server has reached its limit         -> the oldest connection that has sent no request
                                                for SILENT_SECONDS is closed in its place;
                                                refused if there is none
no request within first_request_seconds      -> closed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.peer_address import counted_address

Network: TypeAlias = IPv4Network | IPv6Network

# A client sends its first request as soon as it is connected. A connection without one for this
# long is closed in favor of a new one if the server is full.
SILENT_SECONDS: Final = 2.0


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse comma-separated addresses and networks; ConfigurationError for anything else."""
    networks: list[Network] = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError as error:
            raise ConfigurationError(
                f"{part} is no address and no network such as 10.0.0.0/8: {error}"
            ) from None
    return tuple(networks)


LOOPBACK: Final = parse_networks("127.0.0.0/8,::1")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and for how long one may stay without a request."""

    connections_max: int = 10_000
    """An idle connection costs a few KiB here and as much in the kernel, with TLS 18 KiB more. The
    process must be allowed that many files."""

    address_connections_max: int = 2_500
    """The limit of one address. Many clients may share an address behind a gateway."""

    exempt: Sequence[Network] = field(default=LOOPBACK)
    """Addresses without a limit of their own."""

    first_request_seconds: float = 60.0
    """Java clients keep connections to all name servers but send requests to one of them only. The
    other connections are closed and made again once a minute."""


class Connection(Protocol):
    """A connection of the server."""

    @property
    def peer(self) -> str: ...

    @property
    def requests_seen(self) -> int: ...


C = TypeVar("C", bound=Connection)


@final
class ConnectionGate(Generic[C]):
    """The connections of one server.

    `enter` and `leave` come in pairs, also for a refused connection. The server closes the
    connections that `enter` and `silent_too_long` return.
    """

    __slots__ = ("_addresses", "_entered", "_limits", "_silent")

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._entered: dict[C, str] = {}
        self._addresses: dict[str, int] = {}
        self._silent: dict[C, float] = {}
        """Connections without a request when they were last checked, oldest first."""

    def __len__(self) -> int:
        return len(self._entered)

    def enter(self, connection: C, now: float, *, is_proxied: bool = False) -> C | str | None:
        """Admit a new connection; returns why it must be closed, or which other one in its place.

        A connection of a load balancer has the balancer's address, so it counts against the total
        only.
        """
        address = "" if is_proxied else counted_address(connection.peer)
        refusal = self._refusal(address, connection.peer)
        instead = None
        if refusal is None and len(self._entered) >= self._limits.connections_max:
            instead = self._oldest_silent(now)
            if instead is None:
                refusal = f"{len(self._entered)} connections are open, as maxConnections allows"
        self._entered[connection] = address
        if address:
            self._addresses[address] = self._addresses.get(address, 0) + 1
        if refusal is None:
            self._silent[connection] = now
        return refusal or instead

    def leave(self, connection: C) -> None:
        """Remove a connection that is closed."""
        self._silent.pop(connection, None)
        address = self._entered.pop(connection)
        if not address:
            return
        left = self._addresses[address] - 1
        if left:
            self._addresses[address] = left
        else:
            del self._addresses[address]

    def silent_too_long(self, now: float) -> list[C]:
        """The connections that have sent no request within first_request_seconds."""
        late: list[C] = []
        for connection, entered_at in list(self._silent.items()):
            if connection.requests_seen:
                del self._silent[connection]
            elif entered_at + self._limits.first_request_seconds <= now:
                late.append(connection)
        return late

    def _refusal(self, address: str, peer: str) -> str | None:
        count = self._addresses.get(address, 0)
        if count < self._limits.address_connections_max or self._is_exempt(peer):
            return None
        return f"{address} has {count} connections, as maxConnectionsPerAddress allows"

    def _is_exempt(self, peer: str) -> bool:
        try:
            parsed = ip_address(peer.rpartition(":")[0].strip("[]"))
        except ValueError:
            return True  # a socket of another kind has no address
        mapped = getattr(parsed, "ipv4_mapped", None)
        return any((mapped or parsed) in network for network in self._limits.exempt)

    def _oldest_silent(self, now: float) -> C | None:
        for connection, entered_at in list(self._silent.items()):
            if entered_at + SILENT_SECONDS > now:
                return None
            del self._silent[connection]
            if not connection.requests_seen:
                return connection
        return None
