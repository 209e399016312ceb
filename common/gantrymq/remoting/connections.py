"""Which connections a server takes: how many in all, how many of one address, and for how long one
may stay that asks nothing.

    a connection comes
        its address has as many as it may      -> refused, unless the address is exempt
        there are as many as there may be      -> the oldest that has asked nothing for
                                                  SILENT_SECONDS is closed in its place; refused
                                                  where each has asked something
    first_request_seconds without a request    -> closed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.memory_account import address_of

Network: TypeAlias = IPv4Network | IPv6Network

# A client sends its first request as soon as it is connected. One that has not done so for this
# long gives its place up where there is no other.
SILENT_SECONDS: Final = 2.0


def parse_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, comma-separated; ConfigurationError where it is anything else."""
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
    """How many connections there may be, each number with its reason."""

    connections_max: int = 10_000
    """An idle one costs a few KiB here and as much in the kernel, with TLS 18 KiB more; the process
    must be allowed that many files."""

    address_connections_max: int = 2_500
    """Of one address. Many clients may share one, behind a gateway."""

    exempt: Sequence[Network] = field(default=LOOPBACK)
    """Addresses that may have as many as there are."""

    first_request_seconds: float = 60.0
    """Clients of Java keep connections to all name servers, and ask something of one of them only:
    those are closed and made anew once a minute."""


class Connection(Protocol):
    """A connection of the server."""

    @property
    def peer(self) -> str: ...

    @property
    def requests_seen(self) -> int: ...


C = TypeVar("C", bound=Connection)


@final
class ConnectionGate(Generic[C]):
    """The connections of one server. `enter` and `leave` come in pairs, also for one that is
    refused; the server closes what it is told to."""

    __slots__ = ("_addresses", "_entered", "_limits", "_silent")

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._entered: dict[C, str] = {}
        self._addresses: dict[str, int] = {}
        self._silent: dict[C, float] = {}
        """Those that had not asked anything when they were looked at, the oldest first."""

    def __len__(self) -> int:
        return len(self._entered)

    def enter(self, connection: C, now: float, *, is_proxied: bool = False) -> C | str | None:
        """A connection that came: why it must be closed, or which other one in its place. One that
        a load balancer makes has the balancer's address, and counts in all alone."""
        address = "" if is_proxied else address_of(connection.peer)
        refusal = self._refusal(address, connection.peer)
        instead = None
        if refusal is None and len(self._entered) >= self._limits.connections_max:
            instead = self._oldest_silent(now)
            if instead is None:
                refusal = f"there are {len(self._entered)}, as maxConnections allows"
        self._entered[connection] = address
        if address:
            self._addresses[address] = self._addresses.get(address, 0) + 1
        if refusal is None:
            self._silent[connection] = now
        return refusal or instead

    def leave(self, connection: C) -> None:
        """A connection that is closed."""
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
        """Those that ought to have asked something by now."""
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
        return f"{address} has {count}, as maxConnectionsPerAddress allows"

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
