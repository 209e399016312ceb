"""Fuzzes the sockets of a running broker: it goes on serving others, and no handler breaks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.effect_executor import EffectExecutor
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.hostile import HostileClients
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.offset import GetMaxOffsetRequest

CONNECTIONS = 20
PIECES_MAX = 6
ANSWER_SECONDS = 10.0


def setup(folder: Path) -> Setup:
    keys = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerName": "broker-a",
        "autoCreateTopicEnable": "true",
        "mappedFileSizeCommitLog": str(8 << 20),
    }
    return load(None, {}, keys, folder)


def stream(rng: random.Random, clients: HostileClients) -> bytes:
    """Frames of which some are damaged; damage in a length affects all bytes after it."""
    pieces = []
    for number in range(rng.randrange(1, 8)):
        hostile = clients.request()
        if hostile.code == RequestCode.UPDATE_BROKER_CONFIG:
            continue
        command = Command(
            hostile.code,
            opaque=number,
            flag=FLAG_ONEWAY if hostile.is_oneway else 0,
            ext={name: value for name, value in hostile.ext.items() if len(value) < 1_000},
            body=hostile.body,
            version=hostile.version,
            encoding=rng.randrange(2),
        )
        with suppress(Exception):  # the value cannot be expressed in a header
            pieces.append(frames.encode(command))
    data = bytearray(b"".join(pieces) or b"\0")
    for _ in range(rng.choice((0, 0, 1, 3))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data)) + 1))])


async def attack(rng: random.Random, clients: HostileClients, host: BrokerHost) -> None:
    """Open one connection, send in pieces, and close at any time."""
    reader, writer = await asyncio.open_connection(*host.addresses["internal"])
    data = stream(rng, clients)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(PIECES_MAX)))
    with suppress(OSError):  # the server closed the connection
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            writer.write(data[begin:end])
            await writer.drain()
            await asyncio.sleep(0)  # the output arrives by itself
        if rng.random() < 0.5:
            writer.write_eof()
        if rng.random() < 0.5:
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(rng.choice((1, 1 << 16))), 0.01)
    if rng.random() < 0.3:
        writer.transport.abort()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def besieged(rng: random.Random, folder: Path) -> None:
    chosen = setup(folder)
    host = BrokerHost(chosen)
    await host.start()
    clients = HostileClients(rng)
    dialer = Dialer()
    address, port = host.addresses["internal"]
    honest = dialer.connection(f"{address}:{port}")
    for _ in range(CONNECTIONS):
        await asyncio.gather(*(attack(rng, clients, host) for _ in range(5)))
        header = GetMaxOffsetRequest(topic="T", queue_id=0)
        command = Command(RequestCode.GET_MAX_OFFSET, ext=header.encode())
        answer = await honest.request(command, ANSWER_SECONDS)
        assert answer.code == ResponseCode.SUCCESS
        assert not host.failed.done(), host.failed.exception()
    await dialer.close()
    await host.stop()
    assert not (chosen.root / "abort").exists()


def test_broker_survives_any_input_from_sockets(
    rounds: Iterator[random.Random], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken: list[Exception] = []
    monkeypatch.setattr(
        EffectExecutor, "log_handler_error", lambda _self, _code, error, _now: broken.append(error)
    )
    monkeypatch.setattr(
        EffectExecutor,
        "_write",
        lambda _self, line, _now: broken.extend(filter(None, [line.cause])),
    )
    for number, rng in enumerate(rounds):
        asyncio.run(besieged(rng, tmp_path / str(number)))
        assert not broken, broken
