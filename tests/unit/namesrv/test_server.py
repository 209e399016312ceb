"""Tests how a whole name server serves clients over real loopback sockets."""

from __future__ import annotations

import asyncio
import socket
import urllib.request

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes.brokers.namesrv import Broker
from gantrymq.fakes.brokers.namesrv_host import (
    SECONDS,
    Dial,
    StartHost,
    ask_route,
    register,
    route,
    until,
)
from gantrymq.namesrv.core.messages import Notify
from gantrymq.remoting.events import Reason
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.dialer import Connection
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command, Encoding


async def becomes_empty(connection: Connection, topic: str) -> None:
    async with asyncio.timeout(SECONDS):
        while await route(connection, topic) is not None:
            pass


async def test_a_brokers_routes_leave_with_its_connection(
    start_host: StartHost, dial: Dial
) -> None:
    host = await start_host()
    broker, client = dial(host, "internal"), dial(host, "internal")
    await register(broker, Broker())
    known = await route(client, "T")
    assert known is not None
    assert known.brokers[0].addresses == {0: Broker().address}
    await broker.close()
    await becomes_empty(client, "T")


async def test_each_listener_has_its_own_addresses(start_host: StartHost, dial: Dial) -> None:
    host = await start_host(listeners="internal:127.0.0.1:0,external:127.0.0.1:0")
    broker = Broker(ext={"gantryListeners": "external=203.0.113.1:31911"})
    registering = dial(host, "internal")
    await register(registering, broker)
    for listener, address in (("internal", broker.address), ("external", "203.0.113.1:31911")):
        known = await route(dial(host, listener), "T")
        assert known is not None
        assert known.brokers[0].addresses == {0: address}


async def test_answers_come_in_the_encoding_of_the_question(
    start_host: StartHost, dial: Dial
) -> None:
    client = dial(await start_host(), "internal")
    for encoding in Encoding:
        answer = await client.request(ask_route("T", encoding), SECONDS)
        assert (answer.code, answer.encoding, answer.version) == (17, encoding, 479)


async def test_a_broken_handler_is_answered_and_the_rest_goes_on(
    start_host: StartHost, dial: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    with monkeypatch.context() as patch:
        patch.setattr(host.core.state, "started_at", "not a time")
        answer = await client.request(ask_route("T"), SECONDS)
    assert (answer.code, str(answer.remark).startswith("TypeError: ")) == (1, True)
    assert (await client.request(ask_route("T"), SECONDS)).code == 17


async def test_a_port_in_use_is_said_with_what_to_do(start_host: StartHost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match="choose another with --set listenPort"):
            await start_host(listeners=f"internal:127.0.0.1:{port}")


async def test_health_and_metrics_show_the_real_numbers(start_host: StartHost, dial: Dial) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    host = await start_host(metrics_port=port)
    client = dial(host, "internal")
    await register(client, Broker())
    await route(client, "X")
    page = await asyncio.to_thread(fetch, f"http://127.0.0.1:{port}/metrics")
    for line in (
        'gantry_namesrv_requests_total{code="REGISTER_BROKER",outcome="SUCCESS"} 1.0',
        'gantry_namesrv_requests_total{code="GET_ROUTEINFO_BY_TOPIC",outcome="TOPIC_NOT_EXIST"} 1',
        'gantry_namesrv_registrations_total{outcome="applied"} 1.0',
        "gantry_namesrv_route_misses_total 1.0",
        "gantry_namesrv_brokers 1.0",
        "gantry_namesrv_topics 2.0",
        'gantry_remoting_connections{listener="internal"} 1.0',
        "gantry_event_loop_lag_seconds ",
        "# TYPE gantry_event_loop_stalls_total counter",
        "process_resident_memory_bytes ",
    ):
        assert line in page
    assert await asyncio.to_thread(fetch, f"http://127.0.0.1:{port}/health/ready") == "ready\n"


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - loopback
        text: str = answer.read().decode()
        return text


async def test_notices_reach_the_brokers_own_port(
    start_host: StartHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.namesrv.server.NOTICE_SECONDS", SECONDS)  # they are given 0.3 s
    host = await start_host()
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.set_result(await reader.read(1000))
        writer.close()

    broker = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with broker:
        port = broker.sockets[0].getsockname()[1]
        command = Command(Code.NOTIFY_MIN_BROKER_ID_CHANGE, flag=2, ext={"brokerName": "a"})
        host.core.state.effects.add(Notify(f"127.0.0.1:{port}", command))
        host._after(host.core.state.started_at)
        async with asyncio.timeout(SECONDS):
            assert b'"code":905' in await received


# ---------------------------------------------------------------------- time


async def test_the_core_is_woken_again_after_each_wake(start_host: StartHost) -> None:
    clock = VirtualClock()
    host = await start_host(clock=clock)
    for _ in range(3):
        clock.advance(host.core.deadline() - clock.monotonic())
        before = host._timer
        host._wake()

        assert host._timer is not None
        assert host._timer is not before
        assert host._wakes_at == host.core.deadline() > clock.monotonic()


async def test_a_silent_broker_loses_its_connection(start_host: StartHost, dial: Dial) -> None:
    clock = VirtualClock()
    host = await start_host(clock=clock)
    broker = dial(host, "internal")
    await register(broker, Broker(ext={"heartbeatTimeoutMillis": "5000"}))
    clock.advance(100.0)

    host._wake()

    await until(lambda: not broker.is_connected)
    await until(lambda: host._server.connection_count == 0)
    assert host._server.counters.closed == {("internal", Reason.CLOSED_HERE): 1}


async def test_idle_connections_end_when_the_setting_says(
    start_host: StartHost, dial: Dial
) -> None:
    clock = VirtualClock()
    host = await start_host(clock=clock, idle_seconds=7)
    assert await route(dial(host, "internal"), "T") is None
    clock.advance(6.0)
    host._server.deadline_timer.expire_due(clock.monotonic())
    assert host._server.connection_count == 1
    clock.advance(1.0)

    host._server.deadline_timer.expire_due(clock.monotonic())

    await until(lambda: host._server.connection_count == 0)
    assert host._server.counters.closed == {("internal", Reason.IDLE): 1}
