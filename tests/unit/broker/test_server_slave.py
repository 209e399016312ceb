"""A slave on real sockets finds its master by the name server, and copies its tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.broker.configuration import load
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, pull
from gantrymq.fakes.brokers.sends import message
from gantrymq.interop.ports import free_port
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}


@asynccontextmanager
async def name_server(folder: Path) -> AsyncIterator[str]:
    flags = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}
    names = NameServerHost(load_namesrv(None, {}, flags, folder))
    await names.start()
    address, port = next(iter(names.addresses.values()))
    try:
        yield f"{address}:{port}"
    finally:
        await names.stop()


@asynccontextmanager
async def broker(folder: Path, name_server: str, **flags: str) -> AsyncIterator[BrokerHost]:
    keys = {
        "listenPort": str(free_port(also=(-2, 1))),
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerName": "broker-a",
        "mappedFileSizeCommitLog": str(1 << 20),
        "namesrvAddr": name_server,
        **flags,
    }
    host = BrokerHost(load(None, {}, keys, folder))
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


async def has_topic(host: BrokerHost, name: str) -> None:
    """Back when it is there."""
    is_there = asyncio.Event()
    host.state.topics.listen(lambda topic, _: is_there.set() if topic == name else None)
    if host.state.topics.find(name) is None:  # it may have come while the host started
        await is_there.wait()


async def test_a_slave_has_its_masters_tables_in_no_time(tmp_path: Path) -> None:
    async with (
        name_server(tmp_path) as names,
        broker(tmp_path / "m", names) as master,
        asyncio.timeout(30),
    ):
        master.state.topics.put(TopicConfig("Orders"), 5)
        async with broker(tmp_path / "s", names, **SLAVE) as slave:
            await has_topic(slave, "Orders")
            assert slave.state.master_address == master.state.identity.address


async def test_a_slave_that_comes_first_finds_its_master_soon(tmp_path: Path) -> None:
    async with (
        name_server(tmp_path) as names,
        broker(tmp_path / "s", names, **SLAVE) as slave,
        asyncio.timeout(20),
        broker(tmp_path / "m", names) as master,
    ):
        master.state.topics.put(TopicConfig("Orders"), 5)
        await has_topic(slave, "Orders")


@pytest.mark.parametrize("told", ["127.0.0.1", "localhost"])
async def test_consumers_go_on_at_the_slave_when_the_master_is_gone(
    tmp_path: Path, told: str
) -> None:
    dialer = Dialer()
    async with (
        name_server(tmp_path) as names,
        broker(tmp_path / "s", names, brokerIP1=told, **SLAVE) as slave,
        asyncio.timeout(60),
    ):
        async with broker(tmp_path / "m", names, brokerIP1=told) as master:
            master.state.topics.put(TopicConfig("Orders", 1, 1), 5)
            await has_topic(slave, "Orders")
            sent = Command(RequestCode.SEND_MESSAGE_V2, ext=message("Orders").encode(), body=b"1")
            answer = await dialer.connection(master.state.identity.address).request(sent, 5.0)
            assert answer.code == ResponseCode.SUCCESS
            # It waits at the slave until the log has come.
            waiting = asyncio.ensure_future(pulled(dialer, slave, 0))
            assert (await waiting).code == ResponseCode.SUCCESS
        answer = await pulled(dialer, slave, 0)
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.ext or {})["suggestWhichBrokerId"] == "0"
        refused = await dialer.connection(slave.state.identity.address).request(sent, 5.0)
        assert refused.code == ResponseCode.SYSTEM_BUSY
        await dialer.close()


async def pulled(dialer: Dialer, host: BrokerHost, offset: int) -> Command:
    header = pull(offset, topic="Orders", sys_flag=SUBSCRIBES | SUSPENDS)
    command = Command(RequestCode.PULL_MESSAGE, ext=header.encode())
    return await dialer.connection(host.state.identity.address).request(command, 30.0)
