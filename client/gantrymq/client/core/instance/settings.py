"""Defines the settings of a client, with Java's defaults; times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.bounds import ABOVE_0, must_fit, refused

DEFAULT_INSTANCE: Final = "DEFAULT"
PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The settings that the producers and consumers of one client id share."""

    name_servers: tuple[str, ...] = ()
    name_server_url: str = ""
    """URL of a page that lists the name servers; used if `name_servers` is empty."""
    client_ip: str = ""
    instance_name: str = DEFAULT_INSTANCE
    unit_name: str = ""
    unit_mode: bool = False
    """Tell brokers that this client belongs to one unit of a multi-site deployment."""
    namespace: str = ""
    """Prefix of names on the wire, added and removed by the client; brokers do not interpret it."""
    namespace_v2: str = ""
    """Namespace that each request carries, interpreted by the servers (5.x)."""
    vip_channel: bool = False
    """Use the port two below the broker's own for sends and administration."""
    poll_name_server_s: float = 30.0
    heartbeat_s: float = 30.0
    persist_offsets_s: float = 5.0
    rebalance_s: float = 20.0
    api_timeout_s: float = 3.0
    """Timeout of a request that is neither a send nor a pull."""

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        for server in self.name_servers:
            host, _, port = server.rpartition(":")
            if not (host and port.isdecimal() and 0 < int(port) <= PORT_MAX):
                raise refused(
                    self, "name_servers", f"host:port, several separated by ;, not {server!r}"
                )

    def must_name_servers(self) -> None:
        """Raise ConfigurationError if neither name servers nor a URL are set."""
        if not (self.name_servers or self.name_server_url):
            raise ConfigurationError(
                "no name server address is set: give name_servers, or set NAMESRV_ADDR to"
                " host:port, several separated by ;"
            )

    def client_id(self, process: str) -> str:
        """Return `ip@instance`. `process` replaces the default instance name, so that two processes
        of one machine have different ids."""
        instance = process if self.instance_name == DEFAULT_INSTANCE else self.instance_name
        unit = f"@{self.unit_name}" if self.unit_name else ""
        return f"{self.client_ip}@{instance}{unit}"


_BOUNDS: Final = {
    "poll_name_server_s": ABOVE_0,
    "heartbeat_s": ABOVE_0,
    "persist_offsets_s": ABOVE_0,
    "rebalance_s": ABOVE_0,
    "api_timeout_s": ABOVE_0,
}
