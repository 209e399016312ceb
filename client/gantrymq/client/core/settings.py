"""Settings of a client: Java's defaults, in seconds where Java has milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.bounds import ABOVE_0, must_fit, refused

DEFAULT_INSTANCE: Final = "DEFAULT"
PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What the producers and consumers of one client id share."""

    name_servers: tuple[str, ...] = ()
    name_server_url: str = ""
    """Of a page that lists the name servers, for where `name_servers` does not."""
    client_ip: str = ""
    instance_name: str = DEFAULT_INSTANCE
    unit_name: str = ""
    unit_mode: bool = False
    """Brokers are told that this client is one of a unit of several sites."""
    namespace: str = ""
    """Names are wrapped here: brokers know nothing of it."""
    namespace_v2: str = ""
    """Brokers are told it with each request: it is theirs to heed (5.x)."""
    vip_channel: bool = False
    """Send and administer by the port two below the broker's own."""
    poll_name_server_s: float = 30.0
    heartbeat_s: float = 30.0
    persist_offsets_s: float = 5.0
    rebalance_s: float = 20.0
    api_timeout_s: float = 3.0
    """For one request that is no message and no pull."""

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        for server in self.name_servers:
            host, _, port = server.rpartition(":")
            if not (host and port.isdecimal() and 0 < int(port) <= PORT_MAX):
                raise refused(
                    self, "name_servers", f"host:port, several separated by ;, not {server!r}"
                )

    def must_name_servers(self) -> None:
        """For whom nothing can be found without them; raises ConfigurationError."""
        if not (self.name_servers or self.name_server_url):
            raise ConfigurationError(
                "no name server address is set: give name_servers, or set NAMESRV_ADDR to"
                " host:port, several separated by ;"
            )

    def client_id(self, process: str) -> str:
        """`ip@instance`; `process` stands in for the instance that was not named, so that two
        processes of one machine are told apart."""
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
