"""Reads the limits of a name server's connections and of its audit log from its settings."""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.remoting.connections import ConnectionLimits, parse_networks
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.net.net import ServerLimits
from gantrymq.runtime.storage import descriptors
from gantrymq.runtime.storage.audit_log import AuditFile, audit_file

# Headers of requests to a name server have a few hundred bytes, so a tenth of a broker's bound.
HEADER_BYTES_MAX: Final = 256 * 1024


def connection_limits(settings: NameServerSettings) -> ServerLimits:
    """The limits of all connections. Raises ConfigurationError if a network cannot be parsed."""
    session = SessionLimits(
        header_bytes_max=HEADER_BYTES_MAX,
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


def audit_file_of(settings: NameServerSettings) -> AuditFile | None:
    """The audit log's file with its maximal size; None if the settings name no file."""
    return audit_file(
        settings.audit_log_file, settings.audit_log_file_size, settings.audit_log_file_count
    )
