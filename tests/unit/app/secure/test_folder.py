"""Tests `gantry secure`, and servers that start with the files that it creates."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from gantrymq.acl.signature.signature import Credentials
from gantrymq.app.secure.main import run
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import load as load_broker
from gantrymq.broker.peers import registrar
from gantrymq.broker.server import BrokerHost
from gantrymq.namesrv.configuration import load as load_name_server
from gantrymq.namesrv.server import NameServerHost
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.security.acl_file import read_credentials
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

SECRETS = {"ca-key.pem", "server-key.pem", "plain_acl.yml", "tools.yml", "group.secret"}
LOOPBACK = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    assert run(["init", str(folder), "--host", "broker-1.example"]) == 0
    return folder


def test_only_the_owner_can_read_secrets(made: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in made.rglob("*") if path.is_file()}
    assert {name for name, mode in modes.items() if mode == 0o600} == {*SECRETS, "metrics.token"}
    assert made.stat().st_mode & 0o777 == 0o700


def test_secrets_differ_each_time(made: Path, tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "other")]) == 0
    for name in ("group.secret", "metrics.token", "plain_acl.yml"):
        assert (made / name).read_bytes() != (tmp_path / "other" / name).read_bytes()


def test_existing_files_are_not_overwritten(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    assert run(["init", str(made)]) == 78
    assert "contains files, and this command overwrites nothing" in capsys.readouterr().err
    assert run(["certificate", str(made), "server"]) == 78
    assert "exists already" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}


def test_certificate_command_signs_with_the_authority(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["certificate", str(made), "broker-2", "--host", "broker-2"]) == 0
    paths = capsys.readouterr().out.split()
    assert paths == [str(made / "broker-2.pem"), str(made / "broker-2-key.pem")]
    tls = {
        "tls.server.certPath": paths[0],
        "tls.server.keyPath": paths[1],
    }
    setup = load_name_server(made / "namesrv.conf", {}, tls, made)
    assert setup.tls.identity.cert_path == paths[0]


@pytest.mark.parametrize("name", ["", "../a", ".hidden"])
def test_name_of_a_certificate_cannot_leave_the_folder(
    made: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certificate", str(made), name]) == 78
    assert "must be a file name without a folder" in capsys.readouterr().err


def test_certificate_command_needs_the_authority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certificate", str(tmp_path), "a"]) == 78
    assert "gantry secure init" in capsys.readouterr().err


def test_servers_refuse_to_start_without_a_file_of_the_folder(made: Path, tmp_path: Path) -> None:
    (made / "group.secret").unlink()
    (made / "server-key.pem").unlink()
    with pytest.raises(ConfigurationError) as broker:
        load_broker(made / "broker.conf", {}, {}, tmp_path)
    assert "group.secret is no file" in str(broker.value)
    assert "server-key.pem is no file" in str(broker.value)
    with pytest.raises(ConfigurationError, match=r"server-key\.pem is no file"):
        load_name_server(made / "namesrv.conf", {}, {}, tmp_path)


@asynccontextmanager
async def running(host: BrokerHost | NameServerHost) -> AsyncIterator[str]:
    await host.start()
    try:
        address, port = next(iter(host.addresses.values()))
        yield f"{address}:{port}"
    finally:
        await host.stop()


async def ask(address: str, tls: ClientTls | None, by: Credentials | None) -> Command:
    contexts = None if tls is None else ClientContexts(tls)
    dialer = Dialer(credentials=by, tls=contexts)
    try:
        command = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
        return await dialer.connection(address).request(command, 20.0)
    finally:
        await dialer.close()


async def test_broker_registers_and_unknown_clients_are_refused(
    made: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registrar, "START_SECONDS", 20.0)  # a slow machine is waited for
    names = NameServerHost(load_name_server(made / "namesrv.conf", {}, LOOPBACK, tmp_path))
    async with running(names) as address:
        own = {"namesrvAddr": address, "brokerIP1": "127.0.0.1", "brokerName": "broker-a"}
        small = {"mappedFileSizeCommitLog": "1048576"}
        flags = {**LOOPBACK, **own, **small}
        broker = BrokerHost(load_broker(made / "broker.conf", {}, flags, tmp_path))
        async with running(broker):
            tls = ClientTls.trusting(made / "ca.pem")
            administrator = read_credentials(made / "conf" / "tools.yml")
            assert b"broker-a" in (await ask(address, tls, administrator)).body
            assert (await ask(address, tls, None)).code == 1
            with pytest.raises(RequestError):
                await ask(address, None, administrator)
            assert broker.ha_address is not None
    assert "is open on" not in caplog.text


async def test_metrics_need_the_token(made: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    flags = {**LOOPBACK, "metricsPort": str(port)}
    names = NameServerHost(load_name_server(made / "namesrv.conf", {}, flags, tmp_path))
    token = (made / "metrics.token").read_text().strip()
    async with running(names), ClientSession(f"http://127.0.0.1:{port}") as session:
        async with session.get("/metrics") as reply:
            assert reply.status == 401
        async with session.get("/metrics", headers={"Authorization": f"Bearer {token}"}) as reply:
            assert reply.status == 200
        async with session.get("/healthz") as reply:
            assert reply.status == 200
