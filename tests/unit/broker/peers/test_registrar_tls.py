"""A broker and name servers that take nothing but TLS."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.peers import registrar
from gantrymq.broker.server import BrokerHost
from gantrymq.interop.authority import Authority, Identity
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.security.certificates import ServerTls, TlsMode

ENFORCING = {"tls.server.mode": "enforcing", "tls.test.mode.enable": "false"}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def setup(folder: Path, **keys: str) -> Setup:
    lines = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerName": "sealed",
        "mappedFileSizeCommitLog": str(1 << 20),
        **keys,
    }
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return load(file, {}, {}, folder)


@asynccontextmanager
async def name_server(folder: Path, tls: Mapping[str, str]) -> AsyncIterator[NameServerHost]:
    file = folder / "namesrv.properties"
    plain = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}
    keys = {**plain, **tls, "kvConfigPath": str(folder / "kv.json")}
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    host = NameServerHost(load_namesrv(file, {}, {}, folder))
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


@pytest.fixture(autouse=True)
def _long_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a start wait for the outcome of its registration, on a slow machine too."""
    monkeypatch.setattr(registrar, "START_SECONDS", 60.0)


def door(authority: Authority, server: Identity, *, is_mutual: bool) -> dict[str, str]:
    mutual = {
        "tls.server.need.client.auth": "require",
        "tls.server.trustCertPath": str(authority.trust_path),
    }
    return {**ENFORCING, **server.settings("server"), **(mutual if is_mutual else {})}


async def registered(folder: Path, names: NameServerHost, **keys: str) -> bool:
    """Whether a broker that is started with these keys becomes known."""
    host, port = next(iter(names.addresses.values()))
    before = names.core.state.counters.registrations_applied
    broker = BrokerHost(setup(folder, namesrvAddr=f"{host}:{port}", **keys))
    await broker.start()
    try:
        return names.core.state.counters.registrations_applied > before
    finally:
        await broker.stop()


@pytest.mark.parametrize("is_mutual", [False, True])
async def test_a_broker_registers_by_tls(
    tmp_path: Path, authority: Authority, is_mutual: bool
) -> None:
    trust = {"tls.client.trustCertPath": str(authority.trust_path), "useTLS": "true"}
    own = authority.identity("broker").settings("client")
    doors = door(authority, authority.identity("names"), is_mutual=is_mutual)
    async with name_server(tmp_path, doors) as names:
        assert await registered(tmp_path, names, **trust) is (not is_mutual)
        assert await registered(tmp_path, names, **trust, **own)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "the connection has no TLS: if the server requires TLS, set useTLS=true"),
        (
            {"useTLS": "true", "tls.client.trustCertPath": "{stranger}"},
            "must be signed by one in tls.client.trustCertPath={stranger}",
        ),
    ],
)
async def test_reason_of_an_unready_member_is_reported(
    tmp_path: Path,
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
    keys: dict[str, str],
    said: str,
) -> None:
    (tmp_path / "far").mkdir()
    stranger = str(Authority(tmp_path / "far").trust_path)
    keys = {key: value.format(stranger=stranger) for key, value in keys.items()}
    doors = door(authority, authority.identity("names"), is_mutual=False)
    caplog.set_level(logging.WARNING)
    async with name_server(tmp_path, doors) as names:
        assert not await registered(tmp_path, names, **keys)
    assert said.format(stranger=stranger) in caplog.text


@pytest.mark.parametrize(
    ("keys", "is_tls"),
    [
        ({}, False),
        ({"useTLS": "true"}, True),
        ({"tls.enable": "true"}, True),
        ({"tls.server.mode": "enforcing"}, True),
        ({"tls.server.mode": "enforcing", "useTLS": "false"}, False),
    ],
)
def test_whether_it_dials_by_tls(tmp_path: Path, keys: dict[str, str], is_tls: bool) -> None:
    chosen = setup(tmp_path, **keys)
    assert (chosen.client_tls is not None) is is_tls
    assert any("without checking certificates" in line for line in chosen.warnings) is is_tls
    assert (
        chosen.tls.mode
        is ServerTls.from_properties(
            {key: value for key, value in keys.items() if key == "tls.server.mode"}
        ).mode
    )


def test_slave_that_checks_certificates_gets_no_warning(
    tmp_path: Path, authority: Authority
) -> None:
    trust = str(authority.trust_path)
    assert not setup(tmp_path, **{"useTLS": "true", "tls.client.trustCertPath": trust}).warnings


def test_tls_keys_may_be_flags(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("tls.server.mode=disabled\n")
    chosen = load(file, {}, {"tls.server.mode": "enforcing"}, tmp_path)
    assert chosen.tls.mode is TlsMode.ENFORCING
    assert "tls.server.mode" not in chosen.unknown
    with pytest.raises(ConfigurationError, match=r"tls.server.mod: no TLS setting"):
        load(None, {}, {"tls.server.mod": "enforcing"}, tmp_path)
