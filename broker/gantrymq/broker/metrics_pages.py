"""Makes a broker's two pages of metrics: /metrics, and /metrics/compat4 with older names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, final

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.member.member_host import MemberHost
from gantrymq.broker.metrics import base, compat4, member, page
from gantrymq.metrics.samples import Samples, Source
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.http.metrics import Metrics

# How long a page waits for the disk. Prometheus gives up after 10 s.
STORE_VALUES_SECONDS: Final = 5.0


@final
class MetricsPages:
    """The two pages of one broker; the broker's server owns them.

    The owner calls `begin` when the core has loaded its tables, and `end` before the store closes.
    Before `begin` the pages show only metrics of the process.
    """

    __slots__ = ("_clock", "_core", "_has_begun", "_is_reading", "_member", "_turn_soon")

    def __init__(
        self,
        core: Broker,
        clock: Clock,
        turn_soon: Callable[[], None],
        elected: MemberHost | None,
    ) -> None:
        self._core = core
        self._clock = clock
        self._turn_soon = turn_soon
        self._member = elected
        self._has_begun = self._is_reading = False

    def begin(self) -> None:
        """Show the metrics of the core from now on."""
        self._has_begun = self._is_reading = True

    def end(self) -> None:
        """Stop reading from the store: pages show what was read before."""
        self._is_reading = False

    def own(self, more: Iterable[Source]) -> Metrics:
        """The page at /metrics. The metrics of `more` follow the broker's own."""
        metrics = self._made(self._samples)
        for source in more:
            metrics.add(source)
        return metrics

    def exporter(self) -> Metrics:
        """The page at /metrics/compat4."""
        return self._made(self._exporter_samples, shows_process=False)

    def _made(self, source: Source, *, shows_process: bool = True) -> Metrics:
        limit = self._core.state.settings.metrics_otel_cardinality_limit
        metrics = Metrics(series_max=limit, shows_process=shows_process)
        metrics.prepare(self._read_store)
        metrics.add(source)
        return metrics

    def _samples(self) -> Iterator[Samples]:
        if not self._has_begun:
            return
        state = self._core.state
        yield from page.samples(self._core)
        figures = None if self._member is None else self._member.figures()
        if figures is not None:
            yield from member.samples(figures, base.base_of(state))

    def _exporter_samples(self) -> Iterator[Samples]:
        if self._has_begun:
            yield from compat4.samples(self._core)

    async def _read_store(self) -> None:
        """Read lags and times from the store. If the disk is slow, give up: the page then shows
        what an earlier pass read."""
        if not self._is_reading:
            return
        done = asyncio.Event()
        state = self._core.state
        state.now, state.wall_ms = self._clock.monotonic(), self._clock.wall_ms()
        self._core.services.store_values.refresh(done.set)
        self._turn_soon()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), STORE_VALUES_SECONDS)
