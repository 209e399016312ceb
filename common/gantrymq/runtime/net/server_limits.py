"""Reads the limits of a server's connections from the settings of a broker or a name server."""

from __future__ import annotations

from typing import Protocol

from gantrymq.base.bounds import HEADER_BYTES_MAX
from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.connections import ConnectionLimits, parse_networks
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.net.net import ServerLimits
from gantrymq.runtime.storage import descriptors


class ConnectionSettings(Protocol):
    """The settings that brokers and name servers have in common for their connections."""

    @property
    def max_connections(self) -> int: ...

    @property
    def max_connections_exempt(self) -> str: ...

    @property
    def max_connections_per_address(self) -> int: ...

    @property
    def server_channel_max_idle_time_seconds(self) -> int: ...

    @property
    def server_socket_backlog(self) -> int: ...


def connection_limits(
    settings: ConnectionSettings, header_bytes_max: int = HEADER_BYTES_MAX
) -> ServerLimits:
    """The limits of all connections. Raises ConfigurationError if a network cannot be parsed."""
    session = SessionLimits(
        header_bytes_max=header_bytes_max,
        idle_seconds=float(settings.server_channel_max_idle_time_seconds),
    )
    try:
        exempt = parse_networks(settings.max_connections_exempt)
    except ConfigurationError as error:
        raise ConfigurationError(f"maxConnectionsExempt: {error}") from None
    connections = ConnectionLimits(
        connections_max=descriptors.connections_allowed(settings.max_connections),
        address_connections_max=settings.max_connections_per_address,
        exempt=exempt,
    )
    return ServerLimits(connections, settings.server_socket_backlog, session)
