"""Configures name servers for each TLS mode, and clients with each kind of certificate.

Four modes, as RocketMQ's `tls.` settings define them:

    permissive  no setting at all: plain and TLS, with a certificate made in memory
    enforcing   TLS only, with a certificate that an authority signed
    mutual      the same, and clients must present a certificate of that authority
    disabled    plain only
"""

import ssl
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum

from gantrymq.interop.authority import Authority, Identity, client_context
from gantrymq.interop.servers import NameServer
from gantrymq.interop.wire import Request, connect


class Mode(Enum):
    """How a name server is configured."""

    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"
    MUTUAL = "mutual"
    DISABLED = "disabled"


class Connection(Enum):
    """The kind of connection that a client makes."""

    PLAIN = "plain"
    NAMELESS = "TLS without a certificate"
    KNOWN = "TLS with a certificate of the authority"
    FOREIGN = "TLS with a certificate of another authority"


ADMITTED = {
    Mode.PERMISSIVE: set(Connection),
    Mode.ENFORCING: set(Connection) - {Connection.PLAIN},
    Mode.MUTUAL: {Connection.KNOWN},
    Mode.DISABLED: {Connection.PLAIN},
}
# Java's test mode requests a certificate: clients need not present one, but a presented one must be
# of a public authority. Gantry does not request one.
ADMITTED_BY_JAVA = {**ADMITTED, Mode.PERMISSIVE: {Connection.PLAIN, Connection.NAMELESS}}
OPEN_TO_TLS = [Mode.PERMISSIVE, Mode.ENFORCING, Mode.MUTUAL]
UNVERIFIED = {"tls.enable": "true", "tls.test.mode.enable": "true"}  # the default of Java clients


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates of servers and clients."""

    authority: Authority
    stranger: Authority
    server: Identity
    identities: Mapping[Connection, Identity | None]

    def settings_for(self, mode: Mode) -> dict[str, str]:
        """The settings of a name server."""
        if mode is Mode.PERMISSIVE:
            return {}
        if mode is Mode.DISABLED:
            return {"tls.server.mode": "disabled"}
        settings = {
            "tls.server.mode": "enforcing",
            "tls.test.mode.enable": "false",
            **self.server.settings("server"),
        }
        if mode is Mode.MUTUAL:
            settings |= {
                "tls.server.need.client.auth": "require",
                "tls.server.authClient": "true",  # without it Java does not verify
                "tls.server.trustCertPath": str(self.authority.trust_path),
            }
        return settings

    def java_client(
        self, connection: Connection, trusted: Authority | None = None
    ) -> dict[str, str]:
        """The settings of a Java client that verifies the server; all of them, since earlier ones
        stay."""
        identity = self.identities[connection]
        shown = identity.settings("client") if identity else {}
        return {
            "tls.test.mode.enable": "false",
            "tls.client.authServer": "true",
            "tls.client.trustCertPath": str((trusted or self.authority).trust_path),
            "tls.client.certPath": "",
            "tls.client.keyPath": "",
            **shown,
        }

    def context(self, connection: Connection) -> ssl.SSLContext | None:
        """The context of a test's own connection of this kind."""
        return (
            None
            if connection is Connection.PLAIN
            else client_context(identity=self.identities[connection])
        )

    def server_at(self, mode: Mode, server: NameServer) -> NameServer:
        """The server, with a context that it admits."""
        admitted = {Mode.DISABLED: Connection.PLAIN, Mode.MUTUAL: Connection.KNOWN}
        server.tls = self.context(admitted.get(mode, Connection.NAMELESS))
        return server


@contextmanager
def in_each_mode(
    certificates: Certificates, make: Callable[[Mode], NameServer]
) -> Iterator[Mapping[Mode, NameServer]]:
    """A name server for each mode; they start at the same time."""
    servers = {mode: certificates.server_at(mode, make(mode)) for mode in Mode}
    with ExitStack() as running, ThreadPoolExecutor() as threads:
        for server in servers.values():
            running.callback(server.kill)
        list(threads.map(NameServer.start, servers.values()))
        yield servers


def admits(server: NameServer, context: ssl.SSLContext | None) -> bool:
    """Whether the server answers a connection with this context, or closes it."""
    try:
        with connect(server.address, context) as connection:
            return connection.ask(Request(206)).code == 0
    except (ssl.SSLError, ConnectionError):
        return False
