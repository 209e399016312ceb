"""Tests pages of metrics: their sources, chunks, bounds, and the lag of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

from gantrymq.metrics.family import Table
from gantrymq.metrics.samples import Row, Samples, one
from gantrymq.remoting.events import Reason
from gantrymq.runtime.http.metrics import (
    CHUNK_CHARACTERS,
    SLICE_SECONDS,
    LoopLag,
    Metrics,
    server_samples,
)
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.net import Server
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

TABLE = Table("test", "Test")
LEVEL = TABLE.gauge("level", "A level")
SENT = TABLE.counter("sent_total", "Messages sent", ("topic",))


class Silent:
    def __init__(self) -> None:
        self.seen = asyncio.Event()
        self.over = asyncio.Event()

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.seen.set()

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.over.set()


async def text_of(metrics: Metrics) -> str:
    return b"".join(await metrics.page()).decode()


async def samples(metrics: Metrics) -> dict[str, float]:
    lines = (await text_of(metrics)).splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    }


async def test_a_process_shows_its_memory_and_its_collector() -> None:
    shown = await samples(Metrics())

    assert shown["process_resident_memory_bytes"] > 1_000_000
    assert 'python_gc_collections_total{generation="2"}' in shown


async def test_a_page_of_other_names_shows_nothing_of_the_process() -> None:
    metrics = Metrics(shows_process=False)
    metrics.add(lambda: [one(LEVEL, 1)])

    assert await samples(metrics) == {"level": 1}


async def test_two_pages_are_not_made_at_the_same_time() -> None:
    first, second = Metrics(), Metrics()
    first.add(lambda: [one(LEVEL, 1)])

    assert "level" in await samples(first)
    assert "level" not in await samples(second)


async def test_sources_are_read_for_each_page() -> None:
    metrics = Metrics()
    values = iter([1.0, 2.0])
    metrics.add(lambda: [one(LEVEL, next(values))])

    assert (await samples(metrics))["level"] == 1.0
    assert (await samples(metrics))["level"] == 2.0


async def test_preparation_of_a_page_is_awaited() -> None:
    metrics = Metrics()
    read: list[float] = []

    async def read_it() -> None:
        await asyncio.sleep(0)
        read.append(7)

    metrics.prepare(read_it)
    metrics.add(lambda: [one(LEVEL, read[-1])])

    assert (await samples(metrics))["level"] == 7


async def test_everything_else_on_the_loop_goes_on_while_a_page_is_made() -> None:
    metrics = Metrics(shows_process=False)

    def slow_rows() -> Iterator[Row]:
        for number in range(1000):
            if number % 100 == 0:
                time.sleep(2 * SLICE_SECONDS)  # it is work that holds the loop
            yield (f"T{number}",), number

    metrics.add(lambda: [Samples(SENT, slow_rows())])
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.ensure_future(others())
    text = await text_of(metrics)
    running.cancel()

    assert text.count("sent_total{") == 1000
    assert turns >= 4


async def test_page_shows_dropped_series_and_the_cost_of_the_last_page() -> None:
    metrics = Metrics(series_max=2)
    metrics.add(lambda: [Samples(SENT, [((f"T{number}",), number) for number in range(5)])])

    first, second = await samples(metrics), await samples(metrics)

    assert [name for name in first if name.startswith("sent")] == [
        'sent_total{topic="T0"}',
        'sent_total{topic="T1"}',
    ]
    assert first['gantry_metrics_dropped_series{metric="sent_total"}'] == 3
    assert first["gantry_metrics_page_seconds"] == 0
    assert second["gantry_metrics_page_seconds"] > 0
    assert second["gantry_metrics_longest_slice_seconds"] > 0


async def test_a_long_page_comes_in_chunks() -> None:
    metrics = Metrics(shows_process=False)
    metrics.add(lambda: [Samples(SENT, [((f"T{number}",), number) for number in range(10_000)])])

    chunks = await metrics.page()

    assert len(chunks) > 2
    assert all(len(chunk) < 2 * CHUNK_CHARACTERS for chunk in chunks)
    assert b"".join(chunks).count(b"sent_total{") == 10_000


async def test_the_largest_lag_since_the_last_page_is_shown_once() -> None:
    lag = LoopLag()
    metrics = Metrics()
    metrics.add(lag.samples)
    lag.observe(0.2)
    lag.observe(0.1)

    assert (await samples(metrics))["gantry_event_loop_lag_seconds"] == 0.2
    assert (await samples(metrics))["gantry_event_loop_lag_seconds"] == 0.0


async def test_lag_timer_ends_with_its_owner() -> None:
    lag = LoopLag()
    lag.start()
    assert lag._timer is not None

    lag.stop()

    assert lag._timer.cancelled()


async def test_counters_of_a_server(start_server: Callable[..., Awaitable[Server]]) -> None:
    handler = Silent()
    server = await start_server(handler)
    metrics = Metrics()
    metrics.add(lambda: server_samples(server))
    _, writer = await asyncio.open_connection(*server.addresses["internal"])
    request = encode(Command(40, flag=2))
    writer.write(request * 2)
    await handler.seen.wait()

    shown = await samples(metrics)
    assert shown["gantry_remoting_requests_total"] == 2
    assert shown["gantry_remoting_received_bytes_total"] == 2 * len(request)
    assert shown['gantry_remoting_connections{listener="internal"}'] == 1

    writer.close()
    await writer.wait_closed()
    await handler.over.wait()
    shown = await samples(metrics)
    closed = 'gantry_remoting_closed_connections_total{listener="internal",reason="peer_closed"}'
    assert shown[closed] == 1
    assert shown["gantry_remoting_received_bytes_total"] == 2 * len(request)
    assert shown['gantry_remoting_connections{listener="internal"}'] == 0
