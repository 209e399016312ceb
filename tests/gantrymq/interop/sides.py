"""Runs two name servers side by side: Java's, which is right by definition, and the one under test.

One Java broker registers with both, so that they know the same.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gantrymq.interop.child import wait_until
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import (
    JavaBroker,
    NameServer,
    NameServerKind,
    gantry_name_server,
    java_name_server,
)


@dataclass(frozen=True, slots=True)
class Sides:
    """The two name servers, and the broker that both know."""

    kind: NameServerKind
    reference: NameServer
    subject: NameServer
    broker: JavaBroker

    def each(self) -> tuple[NameServer, NameServer]:
        """The name servers, Java's first."""
        return self.reference, self.subject

    def wait_until_settled(self) -> None:
        """Wait until both know only the real broker."""
        wait_until(
            lambda: all(set(side.brokers()) == {self.broker.broker_name} for side in self.each()),
            f"only {self.broker.broker_name} is registered",
            10,
        )


def name_server(kind: NameServerKind, folder: Path, **settings: str) -> NameServer:
    """A name server of the kind under test."""
    if kind is NameServerKind.JAVA:
        return java_name_server(REFERENCE, folder, settings)
    return gantry_name_server(folder, settings)


@contextmanager
def side_by_side(kind: NameServerKind, folder: Callable[[str], Path]) -> Iterator[Sides]:
    """Both name servers and the broker, running."""
    with (
        java_name_server(REFERENCE, folder("reference")) as reference,
        name_server(kind, folder("subject")) as subject,
        JavaBroker(REFERENCE, folder("broker"), [reference, subject]) as broker,
    ):
        yield Sides(kind, reference, subject, broker)


def without_place(text: str, server: NameServer) -> str:
    """The text without values that differ between the servers: address, port and folder become
    names."""
    port = server.address.rpartition(":")[2]
    text = text.replace(str(server.folder), "<folder>").replace(server.address, "<namesrv>")
    return re.sub(rf"\b{port}\b", "<port>", text)
