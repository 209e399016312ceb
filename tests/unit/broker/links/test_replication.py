"""Tests replication on real sockets: a master, its slave, and strangers that connect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes import hosts
from gantrymq.fakes.hosts import running
from gantrymq.ha.classic.log_senders import FOLLOWERS_MAX
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageRequest

FILE_BYTES = 1 << 20


def setup(folder: Path, **flags: str) -> Setup:
    return hosts.setup(folder, **{"brokerName": "pair", "autoCreateTopicEnable": "true", **flags})


def slave_setup(folder: Path, master: BrokerHost) -> Setup:
    return setup(folder, brokerRole="SLAVE", brokerId="1", haMasterAddress=ha_address_of(master))


def ha_address_of(host: BrokerHost) -> str:
    assert host.ha_address is not None
    address, port = host.ha_address
    return f"{address}:{port}"


async def connect(host: BrokerHost) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address, _, port = ha_address_of(host).rpartition(":")
    return await asyncio.open_connection(address, int(port))


async def send(host: BrokerHost, count: int, size: int = 100) -> set[int]:
    """So many messages at once; the codes of the answers."""
    dialer = Dialer()
    address, port = host.addresses["internal"]
    connection = dialer.connection(f"{address}:{port}")
    header = SendMessageRequest(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=0,
        sys_flag=0,
        born_timestamp=0,
        flag=0,
        properties="",
    )
    body = b"x" * size
    command = [
        Command(RequestCode.SEND_MESSAGE, ext=header.encode(), body=body) for _ in range(count)
    ]
    answers = await asyncio.gather(*(connection.request(each, 20.0) for each in command))
    await dialer.close()
    return {answer.code for answer in answers}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


def acknowledged_to(master: BrokerHost) -> int:
    """By its only slave."""
    (follower,) = master.state.replication.followers(0.0)
    return follower.acknowledged


def log_of(folder: Path) -> bytes:
    files = sorted((folder / "store" / "commitlog").iterdir())
    return b"".join(file.read_bytes() for file in files)


async def test_a_slave_has_its_masters_log(tmp_path: Path) -> None:
    async with running(setup(tmp_path / "master")) as master:
        assert await send(master, 30, 90_000) == {ResponseCode.SUCCESS}
        end = master.state.store.log.end
        assert end > 2 * FILE_BYTES
        async with running(slave_setup(tmp_path / "slave", master)) as slave:
            await until(lambda: slave.state.store.log.end == end)
            assert await send(master, 30, 90_000) == {ResponseCode.SUCCESS}
            end = master.state.store.log.end
            await until(lambda: slave.state.store.log.end == end)
            await until(lambda: acknowledged_to(master) == end)  # its report comes behind
            following = slave.state.replication.following()
            assert following is not None
            assert following.position == end
            assert following.last_read_ms > 0
    copied, theirs = log_of(tmp_path / "slave"), log_of(tmp_path / "master")
    assert copied == theirs[-len(copied) :]


async def test_a_waiting_master_is_answered_by_its_slave(tmp_path: Path) -> None:
    async with running(setup(tmp_path / "master", brokerRole="SYNC_MASTER")) as master:
        assert await send(master, 1) == {ResponseCode.SLAVE_NOT_AVAILABLE}
        async with running(slave_setup(tmp_path / "slave", master)) as slave:
            await until(lambda: slave.state.store.log.end == master.state.store.log.end)
            assert await send(master, 200) == {ResponseCode.SUCCESS}
            assert slave.state.store.log.end == master.state.store.log.end
        await until(lambda: not master.state.replication.followers(0.0))
        assert await send(master, 1) == {ResponseCode.SLAVE_NOT_AVAILABLE}


async def test_another_address_is_followed_at_once(tmp_path: Path) -> None:
    async with (
        running(setup(tmp_path / "first")) as first,
        running(setup(tmp_path / "second")) as second,
        running(slave_setup(tmp_path / "slave", first)) as slave,
    ):
        await until(lambda: bool(first.state.replication.followers(0.0)))
        slave.state.replication.follow(ha_address_of(second))
        await until(lambda: bool(second.state.replication.followers(0.0)))
        await until(lambda: not first.state.replication.followers(0.0))
        slave.state.replication.follow("")
        await until(lambda: not second.state.replication.followers(0.0))
        assert slave.state.replication.following() is None


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 16, b"\0" * 7 + b"\1"])
async def test_peer_that_is_not_a_slave_is_closed(tmp_path: Path, said: bytes) -> None:
    async with running(setup(tmp_path)) as master:
        reader, writer = await connect(master)
        writer.write(said)
        async with asyncio.timeout(30):
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        writer.close()
        assert not master.state.replication.followers(0.0)


async def test_silent_peer_is_closed(tmp_path: Path) -> None:
    async with running(setup(tmp_path, haHousekeepingInterval="200")) as master:
        reader, writer = await connect(master)
        async with asyncio.timeout(30):
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        writer.close()


async def test_there_are_only_so_many_slaves(tmp_path: Path) -> None:
    async with running(setup(tmp_path)) as master:
        writers = [(await connect(master))[1] for _ in range(FOLLOWERS_MAX)]
        for each in writers:
            each.write(bytes(8))
        await until(lambda: len(master.state.replication.followers(0.0)) == FOLLOWERS_MAX)
        reader, writer = await connect(master)
        writer.write(bytes(8))
        async with asyncio.timeout(30):
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
        for each in (writer, *writers):
            each.close()


async def test_a_slave_that_does_not_read_does_not_fill_the_masters_memory(
    tmp_path: Path,
) -> None:
    flags = {
        "mappedFileSizeCommitLog": str(64 << 20),
        "haHousekeepingInterval": "600000",  # else it is closed for its silence by a slow machine
    }
    async with running(setup(tmp_path, **flags)) as master:
        assert await send(master, 1) == {ResponseCode.SUCCESS}
        reader, writer = await connect(master)
        writer.write(bytes(8))
        await until(lambda: bool(master.state.replication.followers(0.0)))
        for _ in range(8):
            assert await send(master, 50, 100_000) == {ResponseCode.SUCCESS}
        end = master.state.store.log.end
        assert end > 40_000_000
        slaves = master._replication._slaves  # type: ignore[union-attr]
        assert slaves is not None
        (connection,) = slaves.all()
        transport = cast("asyncio.Transport", connection._transport)
        assert transport.get_write_buffer_size() < 2 << 20
        async with asyncio.timeout(100):
            await reader.readexactly(end)
        writer.close()


async def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async with running(setup(tmp_path / "first")) as first:
        port = ha_address_of(first).rpartition(":")[2]
        with pytest.raises(ConfigurationError, match="haListenPort"):
            await BrokerHost(setup(tmp_path / "second", haListenPort=port)).start()
