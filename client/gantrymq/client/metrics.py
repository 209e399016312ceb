"""Provides metrics of an application's producers and consumers, for its own page or exporter.

    metrics = ClientMetrics()
    Producer("shop", send_hooks=[metrics])
    PushConsumer("billing", hooks=[metrics])
    prometheus_client.REGISTRY.register(metrics)

One ClientMetrics may serve several producers and consumers. Clients count in their event loop, and
a scrape reads in another thread, so a lock guards the counts. A client without a ClientMetrics
counts nothing.

Invariant: at most PLACES_MAX pairs of group and topic have series of their own. All further pairs
share one series, OTHER.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, final

from gantrymq.client.core.instance.hooks import ConsumeContext, SendContext
from gantrymq.metrics.family import Kind
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.samples import Row, Samples
from gantrymq.metrics.tables import client as table

if TYPE_CHECKING:
    from prometheus_client.core import Metric

PLACES_MAX: Final = 1000
OTHER: Final = ("(others)", "(others)")

_OK: Final = "ok"
_FAILED: Final = "failed"
_ONEWAY: Final = "oneway"
_MS: Final = 1000
# Values of Java's ConsumeReturnType.
_SUCCESS: Final = 0
_RAISED: Final = 2

Place = tuple[str, str]
"""A group and a topic."""


@final
class _Counts:
    """Counts what one group sends to, or consumes from, one topic."""

    __slots__ = ("consume", "consumed", "delay", "send", "sent", "sent_bytes")

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        self.sent_bytes = 0
        self.send = Histogram(table.SEND_SECONDS.buckets)
        self.consumed: Counter[str] = Counter()
        self.consume = Histogram(table.CONSUME_SECONDS.buckets)
        self.delay = Histogram(table.DELAY_SECONDS.buckets)


@final
class ClientMetrics:
    """Counts as a send hook and consume hook, and is a collector of prometheus_client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[Place, _Counts] = {}

    # ------------------------------------------------------------------ hooks

    def before_send(self, context: SendContext) -> None:
        """Do nothing: a send is counted once it has an outcome."""

    def after_send(self, context: SendContext) -> None:
        with self._lock:
            counts = self._counts(context.group, context.queue.topic)
            counts.sent[_sent_outcome(context)] += len(context.messages)
            counts.sent_bytes += context.body_bytes
            counts.send.note(context.cost_ms / _MS)

    def before_consume(self, context: ConsumeContext) -> None:
        with self._lock:
            delay = self._counts(context.group, context.queue.topic).delay
            for message in context.messages:
                delay.note(max(0, context.began_ms - message.stored_ms) / _MS)

    def after_consume(self, context: ConsumeContext) -> None:
        outcome = {_SUCCESS: "success", _RAISED: "raised"}.get(context.outcome, "later")
        with self._lock:
            counts = self._counts(context.group, context.queue.topic)
            counts.consumed[outcome] += len(context.messages)
            counts.consume.note(context.cost_ms / _MS)

    def _counts(self, group: str, topic: str) -> _Counts:
        place = (group, topic)
        counts = self._places.get(place)
        if counts is None:
            if len(self._places) >= PLACES_MAX:
                place = OTHER
            counts = self._places.setdefault(place, _Counts())
        return counts

    # ------------------------------------------------------------------ what is shown

    def samples(self) -> list[Samples]:
        """The samples of all metrics at this moment."""
        with self._lock:
            seen = self._places.items()
            return [
                Samples(table.SENT, _outcomes((place, each.sent) for place, each in seen)),
                Samples(table.SENT_BYTES, [(place, each.sent_bytes) for place, each in seen]),
                Samples(table.SEND_SECONDS, _times((place, each.send) for place, each in seen)),
                Samples(table.CONSUMED, _outcomes((place, each.consumed) for place, each in seen)),
                Samples(
                    table.CONSUME_SECONDS, _times((place, each.consume) for place, each in seen)
                ),
                Samples(table.DELAY_SECONDS, _times((place, each.delay) for place, each in seen)),
            ]

    def collect(self) -> Iterator[Metric]:
        """The samples in prometheus_client's form. Its registries call this method of a collector
        that is registered with them."""
        yield from map(_metric, self.samples())


def _sent_outcome(context: SendContext) -> str:
    if context.error is not None:
        return _FAILED
    if context.result is None:
        return _ONEWAY
    return str(context.result.status).lower() if context.result.status else _OK


def _outcomes(counts: Iterable[tuple[Place, Counter[str]]]) -> list[Row]:
    return [
        ((*place, outcome), count)
        for place, outcomes in counts
        for outcome, count in outcomes.items()
    ]


def _times(histograms: Iterable[tuple[Place, Histogram]]) -> list[Row]:
    """Rows with copies of all histograms that are not empty, since clients change the originals."""
    return [(place, _copied(each)) for place, each in histograms if each.count]


def _copied(histogram: Histogram) -> Histogram:
    copy = Histogram(histogram.bounds)
    copy.add(histogram.counts, histogram.total)
    return copy


def _metric(samples: Samples) -> Metric:
    from prometheus_client.core import (  # noqa: PLC0415 - only scraped applications need it
        CounterMetricFamily,
        HistogramMetricFamily,
    )

    family = samples.family
    if family.kind is Kind.COUNTER:
        counter = CounterMetricFamily(family.name, family.help, labels=family.labels)
        for labels, value in samples.rows:
            assert not isinstance(value, Histogram)
            counter.add_metric(labels, value)
        return counter
    histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in samples.rows:
        assert isinstance(value, Histogram)
        bounds = [*(str(float(each)) for each in value.bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(value.counts), strict=True))
        histogram.add_metric(labels, buckets, value.total)
    return histogram
