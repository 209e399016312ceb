from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client.core import GaugeMetricFamily

from gantrymq.remoting.events import Reason
from gantrymq.runtime.channel import Channel
from gantrymq.runtime.metrics import LoopLag, Metrics, server_families
from gantrymq.runtime.net import Server
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode


class Silent:
    def __init__(self) -> None:
        self.seen = asyncio.Event()
        self.over = asyncio.Event()

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.seen.set()

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.over.set()


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.exposition().decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    }


def test_a_process_shows_its_memory_and_its_collector() -> None:
    shown = samples(Metrics())

    assert shown["process_resident_memory_bytes"] > 1_000_000
    assert 'python_gc_collections_total{generation="2"}' in shown


def test_two_registries_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.add(lambda: [GaugeMetricFamily("only_here", "x", 1)])

    assert "only_here" in samples(one)
    assert "only_here" not in samples(other)


def test_sources_are_asked_at_each_scrape() -> None:
    metrics = Metrics()
    values = iter([1.0, 2.0])
    metrics.add(lambda: [GaugeMetricFamily("level", "x", next(values))])

    assert samples(metrics)["level"] == 1.0
    assert samples(metrics)["level"] == 2.0


def test_the_largest_lag_since_the_last_scrape_is_shown_once() -> None:
    lag = LoopLag()
    metrics = Metrics()
    metrics.add(lag.families)
    lag.observe(0.2)
    lag.observe(0.1)

    assert samples(metrics)["gantry_event_loop_lag_seconds"] == 0.2
    assert samples(metrics)["gantry_event_loop_lag_seconds"] == 0.0


async def test_the_lag_timer_is_owned() -> None:
    lag = LoopLag()
    lag.start()
    assert lag._timer is not None

    lag.stop()

    assert lag._timer.cancelled()


async def test_what_a_server_counts(start_server: Callable[..., Awaitable[Server]]) -> None:
    handler = Silent()
    server = await start_server(handler)
    metrics = Metrics()
    metrics.add(lambda: server_families(server))
    _, writer = await asyncio.open_connection(*server.addresses["internal"])
    request = encode(Command(40, flag=2))
    writer.write(request * 2)
    await handler.seen.wait()

    shown = samples(metrics)
    assert shown["gantry_remoting_requests_total"] == 2
    assert shown["gantry_remoting_received_bytes_total"] == 2 * len(request)
    assert shown['gantry_remoting_connections{listener="internal"}'] == 1

    writer.close()
    await writer.wait_closed()
    await handler.over.wait()
    shown = samples(metrics)
    closed = 'gantry_remoting_closed_connections_total{listener="internal",reason="peer_closed"}'
    assert shown[closed] == 1
    assert shown["gantry_remoting_received_bytes_total"] == 2 * len(request)
    assert shown['gantry_remoting_connections{listener="internal"}'] == 0
