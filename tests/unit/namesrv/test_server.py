"""Tests the whole name server over real loopback sockets and files."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.memory_account import MemoryAccount
from gantrymq.fakes.brokers.namesrv import Broker
from gantrymq.namesrv.configuration import Setup
from gantrymq.namesrv.core.messages import Notify
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.namesrv.server import LINES_MAX, LINES_SECONDS, NameServerHost
from gantrymq.remoting.events import Reason
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock, VirtualClock
from gantrymq.runtime.net.backlog import LONG_BYTES
from gantrymq.runtime.net.dialer import Connection, Dialer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command, Encoding
from gantrymq.wire.frames import encode

StartHost = Callable[..., Awaitable[NameServerHost]]
Dial = Callable[[NameServerHost, str], Connection]
SECONDS = 5.0


@pytest.fixture
async def start_host(tmp_path: Path) -> AsyncIterator[StartHost]:
    """Starts name servers on free ports, files below the test's folder."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            listeners: str = "internal:127.0.0.1:0",
            metrics_port: int = 0,
            idle_seconds: int = 120,
            clock: Clock = SYSTEM_CLOCK,
        ) -> NameServerHost:
            settings = NameServerSettings(
                bind_address="127.0.0.1",
                listeners=listeners,
                metrics_port=metrics_port,
                server_channel_max_idle_time_seconds=idle_seconds,
                kv_config_path=str(tmp_path / "kvConfig.json"),
                config_store_path=str(tmp_path / "namesrv.properties"),
            )
            host = NameServerHost(Setup(settings), clock)
            stack.push_async_callback(host.stop)
            await host.start()
            return host

        yield start


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """A connection of its own to a listener of a host."""
    async with AsyncExitStack() as stack:

        def connect(host: NameServerHost, listener: str = "internal") -> Connection:
            dialer = Dialer()
            stack.push_async_callback(dialer.close)
            address, port = host.addresses[listener]
            return dialer.connection(f"{address}:{port}")

        yield connect


def ask_route(topic: str, encoding: Encoding = Encoding.JSON) -> Command:
    return Command(
        Code.GET_ROUTEINFO_BY_TOPIC, version=479, ext={"topic": topic}, encoding=encoding
    )


async def register(connection: Connection, broker: Broker) -> None:
    command = Command(
        Code.REGISTER_BROKER, version=479, ext=broker.header(), body=broker.body().encode()
    )
    assert (await connection.request(command, SECONDS)).code == 0


async def route(connection: Connection, topic: str) -> TopicRouteData | None:
    answer = await connection.request(ask_route(topic), SECONDS)
    return TopicRouteData.from_json(javajson.loads(answer.body)) if answer.code == 0 else None


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


async def test_kv_and_settings_are_on_disk_when_answered_and_survive_a_restart(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    (tmp_path / "namesrv.properties").write_text("# mine\nclusterTest=true\n")
    item = {"namespace": "n", "key": "k", "value": "v"}
    for command in (
        Command(Code.PUT_KV_CONFIG, ext=item),
        Command(Code.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true"),
    ):
        assert (await client.request(command, SECONDS)).code == 0
    assert (tmp_path / "kvConfig.json").read_text() == '{"configTable":{"n":{"k":"v"}}}'
    text = (tmp_path / "namesrv.properties").read_text()
    assert text == "# mine\nclusterTest=true\norderMessageEnable=true\n"
    second = dial(await start_host(), "internal")
    answer = await second.request(Command(Code.GET_KV_CONFIG, ext=item), SECONDS)
    assert answer.ext == {"value": "v"}


async def test_a_file_that_cannot_be_written_refuses_the_change(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "kvConfig.json").mkdir()
    item = {"namespace": "n", "key": "k", "value": "v"}
    answer = await client.request(Command(Code.PUT_KV_CONFIG, ext=item), SECONDS)
    assert answer.code == 1
    assert "kvConfigPath could not be written" in str(answer.remark)
    answer = await client.request(Command(Code.GET_KV_CONFIG, ext=item), SECONDS)
    assert answer.code == 22


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


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110  # what is awaited has no event
            await asyncio.sleep(0)


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


# ---------------------------------------------------------------------- bounds


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
    assert host._log_timer is not None
    clock.advance(LINES_SECONDS)
    host._settle_log()

    assert "… and 50 more" in caplog.records[-1].getMessage()


# ---------------------------------------------------------------------- files


async def test_stopping_waits_for_files_before_it_closes_connections(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    disk_works = threading.Event()
    host._saver._thread.submit(disk_works.wait)
    item = {"namespace": "n", "key": "k", "value": "v"}
    asking = asyncio.ensure_future(client.request(Command(Code.PUT_KV_CONFIG, ext=item), SECONDS))
    await until(lambda: bool(host._tasks))
    stopping = asyncio.ensure_future(host.stop())
    for _ in range(100):
        await asyncio.sleep(0)
    assert not host._server._is_stopping

    disk_works.set()

    await stopping
    assert (await asking).code == 0
    assert (tmp_path / "kvConfig.json").exists()


async def test_a_settings_file_broken_by_hand_refuses_the_change_and_those_after_it(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "namesrv.properties").write_text("path=C:\\users\n")
    change = Command(Code.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true")
    for _ in range(2):
        answer = await client.request(change, SECONDS)
        assert answer.code == 1
        assert "needs four hexadecimal digits" in str(answer.remark)

    (tmp_path / "namesrv.properties").unlink()
    assert (await client.request(change, SECONDS)).code == 0


async def test_a_path_in_a_circle_refuses_the_change_and_those_after_it(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "kvConfig.json").symlink_to("kvConfig.json")
    change = Command(Code.PUT_KV_CONFIG, ext={"namespace": "n", "key": "k", "value": "v"})
    for _ in range(2):
        answer = await client.request(change, SECONDS)
        assert answer.code == 1
        assert "kvConfigPath could not be written" in str(answer.remark)
