"""Metrics: a registry of our own, and what every process shows about itself.

Hot paths add to plain numbers; a metric reads them when somebody scrapes. So most metrics are
families that a function yields at scrape time, and none costs anything between two scrapes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from gantrymq.runtime.net import Server

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

LAG_SECONDS: Final = 1.0  # how often the loop's lag is measured

Source = Callable[[], Iterable[Metric]]


@final
class _SourceCollector:
    """The registry's idea of a source."""

    __slots__ = ("_source",)

    def __init__(self, source: Source) -> None:
        self._source = source

    def collect(self) -> Iterable[Metric]:
        return self._source()


@final
class Metrics:
    """One process's metrics: memory, CPU, files and garbage collection from the start."""

    __slots__ = ("registry",)

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def add(self, source: Source) -> None:
        """Ask `source` for its families at each scrape."""
        self.registry.register(_SourceCollector(source))

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


@final
class LoopLag:
    """How late the event loop runs its timers: what a request waits before anybody looks at it.

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

    def families(self) -> Iterable[Metric]:
        largest, self._largest = self._largest, 0.0
        yield GaugeMetricFamily(
            "gantry_event_loop_lag_seconds",
            "Largest delay of the event loop's timers since the last scrape",
            largest,
        )

    def _measure(self) -> None:
        self.observe(asyncio.get_running_loop().time() - self._due_at)
        self.start()


def server_families(server: Server) -> Iterable[Metric]:
    """What a remoting server counts."""
    counters, channels = server.counters, server.channels
    yield _total("gantry_remoting_requests", "Requests received", counters.requests)
    yield _total(
        "gantry_remoting_unmatched_responses",
        "Responses nobody waited for",
        counters.unmatched_responses + sum(channel.unmatched_responses for channel in channels),
    )
    for direction, closed, still_open in (
        ("received", counters.bytes_in, sum(channel.bytes_in for channel in channels)),
        ("sent", counters.bytes_out, sum(channel.bytes_out for channel in channels)),
    ):
        name = f"gantry_remoting_{direction}_bytes"
        yield _total(name, f"Bytes {direction}, TLS included", closed + still_open)
    yield GaugeMetricFamily(
        "gantry_remoting_held_bytes",
        "Incomplete frames and handshakes, unsent output, and what TLS costs",
        counters.held_bytes,
    )
    connections = GaugeMetricFamily(
        "gantry_remoting_connections", "Open connections", labels=["listener"]
    )
    for listener in server.addresses:
        count = sum(channel.listener == listener for channel in channels)
        connections.add_metric([listener], count)
    yield connections
    closings = CounterMetricFamily(
        "gantry_remoting_closed_connections",
        "Connections that ended",
        labels=["listener", "reason"],
    )
    for (listener, reason), count in counters.closed.items():
        closings.add_metric([listener, reason.value], count)
    yield closings


def _total(name: str, documentation: str, value: float) -> Metric:
    return CounterMetricFamily(name, documentation, value)
