"""Users of a broker on real sockets, with real files and certificates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import load
from gantrymq.broker.server import BrokerHost
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.security.certificates import ClientTls, self_signed
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

SECONDS = 20.0
ROOT = Credentials("root", "root-secret")
USERS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
}


@asynccontextmanager
async def running(folder: Path, **settings: str) -> AsyncIterator[str]:
    lines = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "mappedFileSizeCommitLog": str(1 << 20),
        **USERS,
        **settings,
    }
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    host = BrokerHost(load(file, {}, {}, folder))
    await host.start()
    try:
        address, port = host.addresses["internal"]
        yield f"{address}:{port}"
    finally:
        await host.stop()


async def code_of(
    address: str, command: Command, by: Credentials | None, tls: ClientContexts | None = None
) -> int:
    dialer = Dialer(credentials=by, tls=tls)
    try:
        return (await dialer.connection(address).request(command, SECONDS)).code
    finally:
        await dialer.close()


def read() -> Command:
    return Command(Code.GET_BROKER_CONFIG)


def create(name: str) -> Command:
    body = b'{"password":"orders-secret","userType":"Super"}'
    return Command(Code.AUTH_CREATE_USER, ext={"username": name}, body=body)


async def test_users_outlive_a_restart_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    orders = Credentials("orders", "orders-secret")
    async with running(tmp_path) as address:
        assert await code_of(address, read(), None) == ResponseCode.NO_PERMISSION
        assert await code_of(address, create("orders"), ROOT) == ResponseCode.SUCCESS
        assert await code_of(address, read(), orders) == ResponseCode.SUCCESS
    file = tmp_path / "store" / "config" / "users.json"
    assert file.stat().st_mode & 0o077 == 0
    async with running(tmp_path) as address:
        assert await code_of(address, read(), orders) == ResponseCode.SUCCESS


async def test_file_of_users_can_be_sealed(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("k" * 48)
    file = tmp_path / "store" / "config" / "users.json"
    async with running(tmp_path, authKeyFile=str(key)) as address:
        assert await code_of(address, create("orders"), ROOT) == ResponseCode.SUCCESS
    assert b"secret" not in file.read_bytes()
    async with running(tmp_path, authKeyFile=str(key)) as address:
        assert await code_of(address, read(), ROOT) == ResponseCode.SUCCESS
    with pytest.raises(ConfigurationError, match="authKeyFile"):
        async with running(tmp_path):
            pass


async def test_verified_certificate_stands_for_its_user(tmp_path: Path) -> None:
    contexts = {}
    for name in ("broker", "root", "nobody"):
        certificate, key = self_signed(name)
        (tmp_path / f"{name}.pem").write_bytes(certificate)
        (tmp_path / f"{name}.key").write_bytes(key)
        of_client = {
            "tls.client.certPath": str(tmp_path / f"{name}.pem"),
            "tls.client.keyPath": str(tmp_path / f"{name}.key"),
        }
        contexts[name] = ClientContexts(ClientTls.from_properties(of_client))
    trusted = tmp_path / "trusted.pem"
    both = ((tmp_path / f"{name}.pem").read_bytes() for name in ("root", "nobody"))
    trusted.write_bytes(b"".join(both))
    tls = {
        "tls.server.mode": "enforcing",
        "tls.server.certPath": str(tmp_path / "broker.pem"),
        "tls.server.keyPath": str(tmp_path / "broker.key"),
        "tls.server.need.client.auth": "require",
        "tls.server.trustCertPath": str(trusted),
        "clientCertAccounts": "CN:root=root",
    }
    async with running(tmp_path, **tls) as address:
        assert await code_of(address, read(), None, contexts["root"]) == ResponseCode.SUCCESS
        refused = await code_of(address, read(), None, contexts["nobody"])
        assert refused == ResponseCode.NO_PERMISSION
        assert await code_of(address, read(), ROOT, contexts["nobody"]) == ResponseCode.SUCCESS
        wrong = Credentials("root", "wrong")
        refused = await code_of(address, read(), wrong, contexts["root"])
        assert refused == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"authenticationEnabled": "false"}, "needs authenticationEnabled=true"),
        ({"initAuthenticationUser": "root:root-secret"}, "initAuthenticationUser cannot be used"),
        ({"authenticationWhitelist": "3001"}, "authenticationWhitelist"),
        ({"clientCertAccounts": "root"}, "clientCertAccounts"),
        ({"authKeyFile": "/nowhere"}, "authKeyFile"),
    ],
)
def test_error_about_an_unusable_setting_hides_its_secret(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as raised:
        load(None, {}, {**USERS, **settings}, tmp_path)
    assert "root-secret" not in str(raised.value)
