"""Metrics of one process: the page for Prometheus, and what every process shows about itself.

Hot paths add to plain numbers; a source reads them when a page is made. So no metric costs anything
between two pages.

A page may have hundreds of thousands of lines. `page` writes it on the event loop, which owns what
the sources read, and lets everything else go first after each SLICE_SECONDS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain
from time import perf_counter
from typing import Final, final

from prometheus_client.exposition import generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from gantrymq.metrics.family import Family, Kind
from gantrymq.metrics.samples import Samples, Source, one
from gantrymq.metrics.tables import process
from gantrymq.metrics.text import PageWriter
from gantrymq.runtime.net import Server

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

LAG_SECONDS: Final = 1.0  # how often the loop's lag is measured

# How long a page holds the loop without a pause; a turn of a busy broker takes about as long.
SLICE_SECONDS: Final = 0.001

# RocketMQ's metricsOtelCardinalityLimit.
SERIES_MAX: Final = 50_000

# Pieces are sent in chunks of this size: each costs a write to the connection.
CHUNK_CHARACTERS: Final = 64 * 1024

Preparation = Callable[[], Awaitable[None]]


@final
class Metrics:
    """One process's metrics: memory, CPU, files and garbage collection from the start, unless this
    is for a page of other names."""

    __slots__ = (
        "_longest_slice",
        "_page_seconds",
        "_preparations",
        "_process",
        "_series_max",
        "_sources",
    )

    def __init__(self, *, series_max: int = SERIES_MAX, shows_process: bool = True) -> None:
        self._series_max = series_max
        self._sources: list[Source] = []
        self._preparations: list[Preparation] = []
        self._longest_slice = self._page_seconds = 0.0
        self._process: CollectorRegistry | None = None
        if shows_process:
            self._process = CollectorRegistry()
            ProcessCollector(registry=self._process)
            GCCollector(registry=self._process)

    def add(self, source: Source) -> None:
        """Ask `source` for its samples whenever a page is made."""
        self._sources.append(source)

    def prepare(self, preparation: Preparation) -> None:
        """Await this before a page is made: what sources show may have to be read first."""
        self._preparations.append(preparation)

    async def samples(self) -> Iterator[Samples]:
        """What the page shows, but for what it says of itself; each metric is read when the
        iterator comes to it, within the loop that owns what sources read."""
        await self._prepare()
        return chain(_process_samples(self._process), *(source() for source in self._sources))

    async def page(self) -> Sequence[bytes]:
        """The page, in chunks; to be called within the loop that owns what sources read."""
        await self._prepare()
        chunks: list[bytes] = []
        waiting: list[str] = []
        size = 0
        began = slice_began = perf_counter()
        longest = 0.0
        for piece in self._pieces():
            waiting.append(piece)
            size += len(piece)
            if size >= CHUNK_CHARACTERS:
                chunks.append("".join(waiting).encode())
                waiting, size = [], 0
            took = perf_counter() - slice_began
            if took >= SLICE_SECONDS:
                longest = max(longest, took)
                await asyncio.sleep(0)
                slice_began = perf_counter()
        chunks.append("".join(waiting).encode())
        ended = perf_counter()
        self._page_seconds = ended - began
        self._longest_slice = max(longest, ended - slice_began)
        return chunks

    async def _prepare(self) -> None:
        for preparation in self._preparations:
            await preparation()

    def _pieces(self) -> Iterator[str]:
        writer = PageWriter(self._series_max)
        if self._process is not None:
            yield generate_latest(self._process).decode()
        for source in self._sources:
            yield from writer.pieces(source())
        if self._process is not None:
            yield from writer.pieces(self._own())
        yield from writer.pieces(_dropped(writer))

    def _own(self) -> Iterator[Samples]:
        """What making the page before this one took."""
        yield one(process.SCRAPE_SECONDS, self._page_seconds)
        yield one(process.SCRAPE_SLICE, self._longest_slice)


def _process_samples(registry: CollectorRegistry | None) -> Iterator[Samples]:
    """What prometheus_client tells of the process: counters and gauges."""
    for metric in () if registry is None else registry.collect():
        kind = Kind.COUNTER if metric.type == "counter" else Kind.GAUGE
        for sample in metric.samples:
            family = Family(sample.name, kind, metric.documentation, tuple(sample.labels))
            yield Samples(family, ((tuple(sample.labels.values()), sample.value),))


def _dropped(writer: PageWriter) -> Iterator[Samples]:
    if writer.dropped:
        yield Samples(
            process.DROPPED_SERIES, [((metric,), count) for metric, count in writer.dropped.items()]
        )


@final
class LoopLag:
    """Measures how late the event loop runs its timers: as long waits a request that has come.

    The largest lag since the last scrape is shown, so that a short stall is not lost between two.
    """

    __slots__ = ("_due_at", "_largest", "_timer")

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = 0.0
        self._largest = 0.0

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_at = loop.time() + LAG_SECONDS
        self._timer = loop.call_at(self._due_at, self._measure)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def observe(self, lag: float) -> None:
        self._largest = max(self._largest, lag)

    def samples(self) -> Iterable[Samples]:
        largest, self._largest = self._largest, 0.0
        yield one(process.LOOP_LAG, largest)

    def _measure(self) -> None:
        self.observe(asyncio.get_running_loop().time() - self._due_at)
        self.start()


def server_samples(server: Server) -> Iterator[Samples]:
    """What a remoting server counts."""
    counters, channels = server.counters, server.channels
    yield one(process.REMOTING_REQUESTS, counters.requests)
    unmatched = sum(channel.unmatched_responses for channel in channels)
    yield one(process.UNMATCHED_RESPONSES, counters.unmatched_responses + unmatched)
    received = counters.bytes_in + sum(channel.bytes_in for channel in channels)
    yield one(process.RECEIVED, received)
    yield one(process.SENT, counters.bytes_out + sum(channel.bytes_out for channel in channels))
    yield one(process.HELD, counters.held_bytes)
    yield Samples(
        process.CONNECTIONS,
        [
            ((listener,), sum(channel.listener == listener for channel in channels))
            for listener in server.addresses
        ],
    )
    yield Samples(
        process.CLOSED_CONNECTIONS,
        [
            ((listener, reason.value), count)
            for (listener, reason), count in counters.closed.items()
        ],
    )
    if server.tls.expires_at is not None:
        yield one(process.CERTIFICATE_EXPIRES, server.tls.expires_at)
