"""A guarded broker and a guarded name server on real sockets, with real files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.peers import registrar
from gantrymq.broker.server import BrokerHost
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

SECONDS = 20.0
RULES = """\
accounts:
- {accessKey: brokers, secretKey: 12345678, admin: true}
- {accessKey: a-client, secretKey: 12345678}
"""
CLIENT = Credentials("a-client", "12345678")
ADMIN = Credentials("brokers", "12345678")
LOOPBACK = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Settings of both servers that name files with these accounts."""
    (tmp_path / "plain_acl.yml").write_text(RULES)
    (tmp_path / "tools.yml").write_text("accessKey: brokers\nsecretKey: 12345678\n")
    return {**LOOPBACK, "aclEnable": "true", "aclFile": str(tmp_path / "plain_acl.yml")}


def broker_setup(folder: Path, keys: Mapping[str, str], **more: str) -> Setup:
    own = {"brokerIP1": "127.0.0.1", "brokerName": "broker-a", "mappedFileSizeCommitLog": "1048576"}
    return load(None, {}, {**keys, **own, **more}, folder)


@asynccontextmanager
async def running(host: BrokerHost | NameServerHost) -> AsyncIterator[str]:
    await host.start()
    try:
        address, port = next(iter(host.addresses.values()))
        yield f"{address}:{port}"
    finally:
        await host.stop()


async def ask(address: str, by: Credentials | None, code: int, **ext: str) -> Command:
    dialer = Dialer(credentials=by)
    try:
        return await dialer.connection(address).request(Command(code, ext=ext), SECONDS)
    finally:
        await dialer.close()


async def test_a_broker_signs_in_at_a_guarded_name_server(
    tmp_path: Path, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registrar, "START_SECONDS", SECONDS)  # a slow machine is waited for
    names = NameServerHost(load_namesrv(None, {}, keys, tmp_path))
    async with running(names) as names_at:
        credentials = str(tmp_path / "tools.yml")
        chosen = broker_setup(tmp_path, keys, namesrvAddr=names_at, aclCredentialsFile=credentials)
        async with running(BrokerHost(chosen)):
            known = await ask(names_at, CLIENT, RequestCode.GET_BROKER_CLUSTER_INFO)
            assert list(ClusterInfo.from_json(javajson.loads(known.body)).brokers) == ["broker-a"]
        known = await ask(names_at, CLIENT, RequestCode.GET_BROKER_CLUSTER_INFO)
        assert list(ClusterInfo.from_json(javajson.loads(known.body)).brokers) == []
        assert (await ask(names_at, None, RequestCode.GET_BROKER_CLUSTER_INFO)).code == 1


async def test_an_account_that_a_request_makes_is_in_the_file(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    newcomer = Credentials("newcomer", "12345678")
    asked = {"accessKey": "newcomer", "secretKey": "12345678"}
    async with running(BrokerHost(broker_setup(tmp_path, keys))) as address:
        assert (await ask(address, newcomer, RequestCode.GET_BROKER_CONFIG)).code == 1
        assert (await ask(address, ADMIN, 50, **asked)).code == 0
        assert (await ask(address, newcomer, RequestCode.GET_BROKER_CONFIG)).code == 0
        assert "newcomer" in (tmp_path / "plain_acl.yml").read_text()
    async with running(BrokerHost(broker_setup(tmp_path, keys))) as address:
        assert (await ask(address, newcomer, RequestCode.GET_BROKER_CONFIG)).code == 0


async def test_a_file_that_is_edited_counts_without_a_restart(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    async with running(BrokerHost(broker_setup(tmp_path, keys))) as address:
        assert (await ask(address, CLIENT, RequestCode.GET_BROKER_CONFIG)).code == 0
        (tmp_path / "plain_acl.yml").write_text("globalWhiteRemoteAddresses: [127.0.0.1]\n")
        async with asyncio.timeout(SECONDS):
            while (await ask(address, None, RequestCode.GET_BROKER_CONFIG)).code != 0:
                pass


@pytest.mark.parametrize("content", [None, "accounts: x"])
async def test_without_a_file_that_can_be_used_nothing_starts(
    tmp_path: Path, keys: dict[str, str], content: str | None
) -> None:
    path = tmp_path / "plain_acl.yml"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(ConfigurationError, match="aclFile="):
        await BrokerHost(broker_setup(tmp_path, keys)).start()
    with pytest.raises(ConfigurationError, match="aclFile="):
        await NameServerHost(load_namesrv(None, {}, keys, tmp_path)).start()


def test_secrets_are_in_no_setting(tmp_path: Path, keys: dict[str, str]) -> None:
    chosen = broker_setup(tmp_path, keys, aclCredentialsFile=str(tmp_path / "tools.yml"))
    assert chosen.credentials == ADMIN
    assert "12345678" not in repr(chosen)


def test_the_file_is_in_the_store_unless_it_is_named(tmp_path: Path) -> None:
    wanted = tmp_path / "store" / "config" / "plain_acl.yml"
    assert broker_setup(tmp_path, LOOPBACK).settings.acl_file == str(wanted)
