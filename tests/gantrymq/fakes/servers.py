"""Runs a name server and a broker on loopback, for tests of clients with real sockets.

async with servers(tmp_path) as running:
    running.name_server         "127.0.0.1:port"
    running.broker              the BrokerHost
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gantrymq.broker.configuration import load as load_broker
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.brokers.sends import message
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


@dataclass(frozen=True)
class Servers:
    name_server: str
    broker: BrokerHost
    names: NameServerHost

    @property
    def broker_address(self) -> str:
        address, port = self.broker.addresses["internal"]
        return f"{address}:{port}"

    async def store(self, *bodies: str, topic: str = "T", queue_id: int = 0) -> None:
        """Store messages without a producer."""
        dialer = Dialer()
        connection = dialer.connection(self.broker_address)
        for body in bodies:
            header = message(topic, queue_id=queue_id)
            command = Command(RequestCode.SEND_MESSAGE_V2, ext=header.encode(), body=body.encode())
            answer = await connection.request(command, 5.0)
            assert answer.code == 0, answer.remark
        await dialer.close()


@asynccontextmanager
async def servers(folder: Path, **flags: str) -> AsyncIterator[Servers]:
    """The servers; a topic is created by its first message. `flags` are the broker's."""
    names = NameServerHost(load_namesrv(None, {}, NAMESRV_FLAGS, folder / "namesrv"))
    await names.start()
    try:
        address, number = names.addresses["internal"]
        name_server = f"{address}:{number}"
        port = str(_free_port())  # not 0: name servers get the configured port
        chosen = {**BROKER_FLAGS, "listenPort": port, "namesrvAddr": name_server, **flags}
        broker = BrokerHost(load_broker(None, {}, chosen, folder / "broker"))
        await broker.start()
        try:
            yield Servers(name_server, broker, names)
        finally:
            await broker.stop()
    finally:
        await names.stop()


def _free_port() -> int:
    """A free port; the fast port two below it and the replication port above it are free as
    well."""
    while True:
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port - 2))
                third.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


NAMESRV_FLAGS = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}
BROKER_FLAGS = {
    **NAMESRV_FLAGS,
    "brokerIP1": "127.0.0.1",
    "brokerName": "broker-a",
    "autoCreateTopicEnable": "true",
    "mappedFileSizeCommitLog": str(1 << 20),
}
