"""Tests how a name server limits memory, requests and log lines of its connections."""

from __future__ import annotations

import asyncio

import pytest

from gantrymq.base.memory_account import MemoryAccount
from gantrymq.fakes.brokers.namesrv_host import SECONDS, Dial, StartHost, ask_route, until
from gantrymq.namesrv.limited_log import LINES_MAX, LINES_SECONDS
from gantrymq.remoting.events import Reason
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.backlog import LONG_BYTES
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode


async def test_flood_of_an_address_is_paused_and_refused_and_every_request_is_answered(
    start_host: StartHost, dial: Dial
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    limits = b"maxRequestsPerSecondPerAddress=1\nquotaDelayMaxMillis=50"
    command = Command(Code.UPDATE_NAMESRV_CONFIG, version=479, body=limits)
    assert (await client.request(command, SECONDS)).code == 0
    flood = [client.request(ask_route("T"), SECONDS) for _ in range(40)]
    codes = [answer.code for answer in await asyncio.gather(*flood)]
    assert (codes[0], codes[-1]) == (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SYSTEM_BUSY)
    assert host.core.quota.counts.delays > 0


async def test_memory_of_connections_is_bounded(start_host: StartHost) -> None:
    host = await start_host()
    host._server.memory = MemoryAccount(2000, share_min=0)
    _, writer = await asyncio.open_connection(*host.addresses["internal"])
    writer.write(encode(Command(Code.REGISTER_BROKER, body=bytes(4000)))[:2000])

    await until(lambda: bool(host._server.counters.closed))

    assert host._server.counters.closed == {("internal", Reason.MEMORY_BUDGET): 1}
    writer.close()


async def test_oneway_requests_are_served_and_then_in_flight_no_more(
    start_host: StartHost, dial: Dial
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    for _ in range(3):
        await client.notify(ask_route("T"))
    assert (await client.request(ask_route("T"), SECONDS)).code == 17

    [channel] = host._server.channels
    assert host.core.counters.requests[Code.GET_ROUTEINFO_BY_TOPIC, 17] == 4
    assert channel._session.requests_in == 0


async def test_long_requests_wait_and_are_answered_in_their_order(
    start_host: StartHost, dial: Dial
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    long = ask_route("T")
    long.body = bytes(LONG_BYTES)

    answers = await asyncio.gather(
        *(client.request(command, SECONDS) for command in (ask_route("T"), long, ask_route("T")))
    )

    assert [answer.code for answer in answers] == [17] * 3
    assert [answer.opaque for answer in answers] == [0, 1, 2]


async def test_lines_that_peers_provoke_are_limited_by_kind(
    start_host: StartHost, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "namesrv")
    clock = VirtualClock()
    host = await start_host(clock=clock)
    effects = host.core.state.effects
    for number in range(LINES_MAX + 50):
        effects.warning(f"Can't register topicConfigWrapper=['t{number}']")
    effects.info("new broker registered, it")

    host._after(clock.monotonic())
    lines = [record.getMessage() for record in caplog.records if record.name == "namesrv"]
    assert len(lines) == LINES_MAX + 1
    assert lines[-1] == "new broker registered, it"
    assert host._limited_log._timer is not None
    clock.advance(LINES_SECONDS)
    host._limited_log._settle()

    assert "… and 50 more" in caplog.records[-1].getMessage()
