"""TLS at a broker's ports, by the keys of its file, as at the name server's."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.broker.configuration import load
from gantrymq.broker.server import BrokerHost
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.security.certificates import ClientTls, self_signed
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SECONDS = 20.0
LISTENERS = ("internal", "fast")


def write_identity(folder: Path) -> bytes:
    """A new certificate and its key where the settings say they are; the certificate."""
    certificate, key = self_signed("broker")
    for name, content in (("cert.pem", certificate), ("key.pem", key)):
        (folder / name).write_bytes(content)
    return certificate


@asynccontextmanager
async def running(folder: Path, **tls: str) -> AsyncIterator[BrokerHost]:
    lines = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "mappedFileSizeCommitLog": str(1 << 20),
        **tls,
    }
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    host = BrokerHost(load(file, {}, {}, folder))
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


async def is_answered(host: BrokerHost, listener: str, context: ClientContexts | None) -> bool:
    address, port = host.addresses[listener]
    dialer = Dialer(tls=context)
    try:
        asked = Command(RequestCode.GET_BROKER_CONFIG)
        answer = await dialer.connection(f"{address}:{port}").request(asked, SECONDS)
    except RequestError:
        return False
    finally:
        await dialer.close()
    return answer.code == ResponseCode.SUCCESS


async def shown(host: BrokerHost) -> bytes:
    """The certificate that the next connection gets."""
    address = host.addresses["internal"]
    return (await asyncio.to_thread(ssl.get_server_certificate, address)).encode()


@pytest.mark.parametrize(
    ("mode", "plain", "sealed"),
    [("permissive", True, True), ("enforcing", False, True), ("disabled", True, False)],
)
async def test_each_port_accepts_clients_as_the_mode_says(
    tmp_path: Path, mode: str, plain: bool, sealed: bool
) -> None:
    write_identity(tmp_path)
    keys = {
        "tls.server.mode": mode,
        "tls.server.certPath": str(tmp_path / "cert.pem"),
        "tls.server.keyPath": str(tmp_path / "key.pem"),
    }
    async with running(tmp_path, **keys) as host:
        for listener in LISTENERS:
            assert await is_answered(host, listener, None) == plain
            assert await is_answered(host, listener, ClientContexts(ClientTls())) == sealed


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    first = write_identity(tmp_path)
    own = tmp_path / "tls.properties"
    own.write_text(
        f"tls.server.certPath={tmp_path / 'cert.pem'}\ntls.server.keyPath={tmp_path / 'key.pem'}\n"
    )
    async with running(tmp_path, **{"tls.config.file": str(own)}) as host:
        assert (await shown(host)).split() == first.split()
        second = write_identity(tmp_path)
        async with asyncio.timeout(SECONDS):
            while (await shown(host)).split() != second.split():
                pass
