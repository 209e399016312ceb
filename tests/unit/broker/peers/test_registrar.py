"""A broker registers with name servers that start after it, or that are down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gantrymq.broker.configuration import load
from gantrymq.broker.peers import registrar
from gantrymq.broker.server import BrokerHost
from gantrymq.interop.ports import free_port
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost

WAIT_SECONDS = 60.0
NEVER_SECONDS = 3600.0


def broker(folder: Path, *name_server_ports: int) -> BrokerHost:
    lines = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerName": "early",
        "mappedFileSizeCommitLog": str(1 << 20),
        "namesrvAddr": ";".join(f"127.0.0.1:{port}" for port in name_server_ports),
    }
    file = folder / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return BrokerHost(load(file, {}, {}, folder))


def name_server(folder: Path, port: int) -> NameServerHost:
    file = folder / "namesrv.properties"
    keys = {"listenPort": str(port), "metricsPort": "0", "bindAddress": "127.0.0.1"}
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return NameServerHost(load_namesrv(file, {}, {}, folder))


def registrations(host: NameServerHost) -> int:
    counters = host.core.state.counters
    return counters.registrations_applied + counters.registrations_unchanged


async def wait_until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_true():  # noqa: ASYNC110 - it is not told
            await asyncio.sleep(0.01)


async def test_a_name_server_that_starts_later_is_told_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker does not wait for its next regular registration, which is an hour away here."""
    port = free_port()
    host = broker(tmp_path, port)
    await host.start()
    monkeypatch.setattr(registrar, "SECOND_SECONDS", NEVER_SECONDS)
    late = name_server(tmp_path, port)
    await late.start()
    try:
        await wait_until(lambda: registrations(late) > 0)
    finally:
        await host.stop()
        await late.stop()


async def test_a_change_is_waited_for_where_no_name_server_was_reached_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a client that creates a topic and sends to it at once finds no route."""
    monkeypatch.setattr(registrar, "TOLD_SECONDS", WAIT_SECONDS)
    port = free_port()
    host = broker(tmp_path, port)
    await host.start()
    late = name_server(tmp_path, port)
    await late.start()
    try:
        host._registrar.changed()
        await host._registrar.told()
        assert registrations(late) > 0
    finally:
        await host.stop()
        await late.stop()


async def test_a_name_server_that_is_gone_delays_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registrar, "RETRY_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr(registrar, "TOLD_SECONDS", NEVER_SECONDS)
    port, gone = free_port(), free_port()
    there = name_server(tmp_path, port)
    await there.start()
    host = broker(tmp_path, port, gone)
    await host.start()
    try:
        await wait_until(lambda: f"127.0.0.1:{gone}" in host._registrar.failures)
        before = registrations(there)
        host._registrar.changed()
        async with asyncio.timeout(WAIT_SECONDS):
            await host._registrar.told()
        assert registrations(there) > before
    finally:
        await host.stop()
        await there.stop()
