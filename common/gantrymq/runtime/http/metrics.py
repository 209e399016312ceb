"""Makes the page of metrics of one process, and reads the metrics that every process has.

Hot paths only add to plain numbers, and sources read these numbers while a page is made. So metrics
cost nothing between two pages.

A page may have hundreds of thousands of lines. It is written on the event loop, which owns the
state that sources read. After each SLICE_SECONDS of writing, other work of the loop runs first.
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

from gantrymq.base import memory_account
from gantrymq.metrics.family import Family, Kind
from gantrymq.metrics.samples import Samples, Source, one
from gantrymq.metrics.tables import process
from gantrymq.metrics.text import PageWriter
from gantrymq.runtime.net.net import Server

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

LAG_SECONDS: Final = 1.0  # how often the loop's lag is measured

# Writing a page holds the loop for so long at a time, about as long as a turn of a busy broker.
SLICE_SECONDS: Final = 0.001

# The default of RocketMQ's metricsOtelCardinalityLimit.
SERIES_MAX: Final = 50_000

# Pieces are joined to chunks of this size, because each chunk costs a write to the connection.
CHUNK_CHARACTERS: Final = 64 * 1024

Preparation = Callable[[], Awaitable[None]]


@final
class Metrics:
    """Collects the metrics of one process from its sources.

    With `shows_process` the page begins with the memory, CPU, files and garbage collection of the
    process. A second page with other names leaves these out.
    """

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
        """Have each page show the samples of this source."""
        self._sources.append(source)

    def prepare(self, preparation: Preparation) -> None:
        """Await `preparation` before each page. It may read from disk what sources then show."""
        self._preparations.append(preparation)

    async def samples(self) -> Iterator[Samples]:
        """All samples except those about the page itself.

        Call this, and iterate over the result, in the event loop that owns the state of the
        sources: they read each metric when the iterator gets to it.
        """
        await self._prepare()
        return chain(_process_samples(self._process), *(source() for source in self._sources))

    async def page(self) -> Sequence[bytes]:
        """The page in chunks. Call this in the event loop that owns the state of the sources."""
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
        """The metrics of the page itself: how long it took to make the page before this one."""
        yield one(process.SCRAPE_SECONDS, self._page_seconds)
        yield one(process.SCRAPE_SLICE, self._longest_slice)


def _process_samples(registry: CollectorRegistry | None) -> Iterator[Samples]:
    """The samples of the process that prometheus_client collects, all counters and gauges."""
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
    """Measures how late the event loop runs its timers. A request that arrives waits as long.

    The metric is the largest lag since the last scrape, so that short stalls between two scrapes
    are seen.
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
    """The metrics of a remoting server: requests, bytes and connections."""
    counters, channels = server.counters, server.channels
    yield one(process.REMOTING_REQUESTS, counters.requests)
    unmatched = sum(channel.unmatched_responses for channel in channels)
    yield one(process.UNMATCHED_RESPONSES, counters.unmatched_responses + unmatched)
    received = counters.bytes_in + sum(channel.bytes_in for channel in channels)
    yield one(process.RECEIVED, received)
    yield one(process.SENT, counters.bytes_out + sum(channel.bytes_out for channel in channels))
    yield one(process.HELD, server.memory.held_of(memory_account.Kind.CONNECTIONS))
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
