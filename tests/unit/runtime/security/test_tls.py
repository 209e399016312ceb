"""Tests TLS over real sockets, with an authority and certificates made by the test."""

from __future__ import annotations

import asyncio
import datetime
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gantrymq.fakes.connections import Echo
from gantrymq.remoting.backoff import BackoffPolicy
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.net.dialer import Dialer, DialerSettings
from gantrymq.runtime.net.net import Server
from gantrymq.runtime.security.certificates import (
    ClientAuth,
    ClientTls,
    Identity,
    ServerContexts,
    ServerTls,
    TlsMode,
    client_context,
)
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportState
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

StartServer = Callable[..., Awaitable[Server]]


class Authority:
    """Signs certificates into files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.path = str(folder / f"{name}.pem")
        Path(self.path).write_bytes(self._certificate(self._name, self._key, is_authority=True))

    def issue(self, name: str) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate, secret = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(self._certificate(subject, key, is_authority=False))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return Identity(str(certificate), str(secret))

    def _certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(self._key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
        )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


async def ask(server: Server, tls: ClientTls | None, body: bytes = b"hello") -> bytes:
    """One request over a connection of its own."""
    dialer = Dialer(tls=None if tls is None else ClientContexts(tls))
    host, port = server.addresses["internal"]
    try:
        answer = await dialer.connection(f"{host}:{port}").request(Command(1, body=body), 30.0)
    finally:
        await dialer.close()
    return answer.body


# ---------------------------------------------------------------------- modes


async def test_permissive_takes_plain_and_tls_on_one_port(start_server: StartServer) -> None:
    server = await start_server(Echo(), tls=ServerContexts(ServerTls()))

    assert await ask(server, None) == b"hello"
    assert await ask(server, ClientTls()) == b"hello"


async def test_enforcing_takes_tls_only(start_server: StartServer) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls(mode=TlsMode.ENFORCING)))

    assert await ask(server, ClientTls()) == b"hello"
    assert await echo.closings.get() is Reason.PEER_CLOSED
    with pytest.raises(RequestError):
        await ask(server, None)
    assert await echo.closings.get() is Reason.TLS_REQUIRED


async def test_disabled_takes_plain_only(start_server: StartServer) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls(mode=TlsMode.DISABLED)))

    assert await ask(server, None) == b"hello"
    assert await echo.closings.get() is Reason.PEER_CLOSED
    with pytest.raises(RequestError):
        await ask(server, ClientTls())
    assert await echo.closings.get() is Reason.TLS_DISABLED


async def test_permissive_server_waits_for_the_clients_first_byte(
    start_server: StartServer,
) -> None:
    server = await start_server(Echo(), tls=ServerContexts(ServerTls()))
    reader, writer = await asyncio.open_connection(*server.addresses["internal"])
    while not server.channels:  # noqa: ASYNC110  # it is open when the server has seen it
        await asyncio.sleep(0)
    [channel] = server.channels
    channel.notify(Command(40, body=b"news"))
    await asyncio.sleep(0)
    assert channel.bytes_out == 0

    writer.write(encode(Command(1, body=b"question")))
    received = b""
    while b"question" not in received:
        received += await reader.read(65_536)

    assert b"news" in received
    writer.close()
    await writer.wait_closed()


async def test_a_large_frame_comes_through_both_ways(start_server: StartServer) -> None:
    server = await start_server(Echo(), tls=ServerContexts(ServerTls()))
    body = bytes(range(256)) * (65_536 - 1)

    assert await ask(server, ClientTls(), body) == body


async def test_the_client_hello_may_come_in_pieces(start_server: StartServer) -> None:
    server = await start_server(Echo(), tls=ServerContexts(ServerTls()))
    reader, writer = await asyncio.open_connection(*server.addresses["internal"])
    transport = TlsTransport.of_client(client_context(ClientTls()))
    hello = transport.take_output()
    for position in range(len(hello)):
        writer.write(hello[position : position + 1])
        await asyncio.sleep(0)
    while transport.state is not TlsTransportState.OPEN:
        transport.receive(await reader.read(65_536))
    for piece in transport.encrypt([encode(Command(1, body=b"pieces"))]):
        writer.write(piece)

    plain = b""
    while not plain.endswith(b"pieces"):
        plain += transport.receive(await reader.read(65_536))

    writer.close()
    await writer.wait_closed()


async def test_last_request_before_the_close_is_served(start_server: StartServer) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls()))
    reader, writer = await asyncio.open_connection(*server.addresses["internal"])
    transport = TlsTransport.of_client(client_context(ClientTls()))
    writer.write(transport.take_output())
    while transport.state is not TlsTransportState.OPEN:
        transport.receive(await reader.read(65_536))
    [unregister] = transport.encrypt([encode(Command(35, flag=2))])
    transport.close()
    writer.write(unregister + transport.take_output())

    assert await echo.closings.get() is Reason.PEER_CLOSED
    assert echo.served == 1
    writer.close()
    await writer.wait_closed()


# ---------------------------------------------------------------------- certificates


async def test_client_trusts_certificates_signed_by_the_authority(
    start_server: StartServer, authority: Authority, tmp_path: Path
) -> None:
    settings = ServerTls(test_mode=False, identity=authority.issue("server"))
    server = await start_server(Echo(), tls=ServerContexts(settings))
    other = Authority(tmp_path, "stranger")

    trusting = ClientTls(test_mode=False, auth_server=True, trust_cert_path=authority.path)
    assert await ask(server, trusting) == b"hello"
    with pytest.raises(RequestError, match=r"self.signed|unable to get local issuer"):
        await ask(server, ClientTls(test_mode=False, auth_server=True, trust_cert_path=other.path))


@pytest.mark.parametrize("client_auth", [ClientAuth.OPTIONAL, ClientAuth.REQUIRE])
async def test_mutual_tls(
    client_auth: ClientAuth, start_server: StartServer, authority: Authority, tmp_path: Path
) -> None:
    echo = Echo()
    settings = ServerTls(
        mode=TlsMode.ENFORCING,
        test_mode=False,
        identity=authority.issue("server"),
        client_auth=client_auth,
        trust_cert_path=authority.path,
    )
    server = await start_server(echo, tls=ServerContexts(settings))
    known = ClientTls(test_mode=False, identity=authority.issue("client"))
    unknown = ClientTls(test_mode=False, identity=Authority(tmp_path, "stranger").issue("intruder"))

    assert await ask(server, known) == b"hello"
    assert await echo.closings.get() is Reason.PEER_CLOSED
    with pytest.raises(RequestError):
        await ask(server, unknown)
    assert await echo.closings.get() is Reason.HANDSHAKE_FAILED
    if client_auth is ClientAuth.OPTIONAL:
        assert await ask(server, ClientTls()) == b"hello"
    else:
        with pytest.raises(RequestError):
            await ask(server, ClientTls())


async def test_reload_applies_to_new_connections_only(
    start_server: StartServer, authority: Authority, tmp_path: Path
) -> None:
    identity = authority.issue("server")
    contexts = ServerContexts(ServerTls(test_mode=False, identity=identity))
    server = await start_server(Echo(), tls=contexts)
    trusting = ClientTls(test_mode=False, auth_server=True, trust_cert_path=authority.path)
    dialer = Dialer(tls=ClientContexts(trusting))
    old = dialer.connection("{}:{}".format(*server.addresses["internal"]))
    await old.request(Command(1), 30.0)

    successor = Authority(tmp_path, "successor")
    assert successor.issue("server") == identity
    contexts.reload()

    assert (await old.request(Command(1, body=b"still"), 30.0)).body == b"still"
    with pytest.raises(RequestError):
        await ask(server, trusting)
    assert await ask(
        server, ClientTls(test_mode=False, auth_server=True, trust_cert_path=successor.path)
    )
    await dialer.close()


async def test_dialer_trusts_the_current_trust_file(
    start_server: StartServer, authority: Authority, tmp_path: Path
) -> None:
    contexts = ServerContexts(ServerTls(test_mode=False, identity=authority.issue("server")))
    server = await start_server(Echo(), tls=contexts)
    address = "{}:{}".format(*server.addresses["internal"])
    named = tmp_path / "trusted.pem"
    shutil.copyfile(Authority(tmp_path, "stranger").path, named)
    trusting = ClientTls(test_mode=False, auth_server=True, trust_cert_path=str(named))
    backoff = BackoffPolicy(first_seconds=0.0)
    dialer = Dialer(settings=DialerSettings(backoff=backoff), tls=ClientContexts(trusting))

    with pytest.raises(RequestError, match="handshake_failed"):
        await dialer.connection(address).request(Command(1), 30.0)
    shutil.copyfile(authority.path, named)

    assert (await dialer.connection(address).request(Command(1, body=b"now"), 30.0)).body == b"now"
    await dialer.close()
