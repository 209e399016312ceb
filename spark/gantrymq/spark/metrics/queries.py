"""Keeps the metrics of all streaming queries of a session.

`gantrymq.metrics.tables.spark` defines the metrics.

Spark and the scrapes call from different threads, so a lock protects the state. Invariant: at most
QUERIES_MAX queries, TOPICS_MAX topics and QUEUES_MAX queues each are exported.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gantrymq.metrics.family import Family
from gantrymq.metrics.tables import spark as table
from gantrymq.spark.metrics.progress import BatchProgress
from gantrymq.spark.options.assignment import QueueKey

QUERIES_MAX: Final = 100  # a driver runs a few; the oldest that ended go first
TOPICS_MAX: Final = 500  # the lag of topics beyond these, by name, is added up as OTHER_TOPICS
QUEUES_MAX: Final = 2000  # a query with more queues is shown by topic only
OTHER_TOPICS: Final = "(others)"


@final
@dataclass(slots=True)
class _Query:
    """One query, over all of its runs in this session."""

    is_active: bool = True
    failures: int = 0
    batches: int = 0
    rows: int = 0
    phase_seconds: dict[str, float] = field(default_factory=dict)
    last: BatchProgress | None = None
    committed_at: float = 0.0


@final
class StreamingQueries:
    """All queries of one session. The listener updates it, and Prometheus' registry collects it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: dict[str, _Query] = {}

    def started(self, query: str) -> None:
        with self._lock:
            self._known(query).is_active = True

    def advanced(self, progress: BatchProgress, now: float) -> None:
        """Note that a micro-batch is done; `now` is the wall-clock time in seconds."""
        with self._lock:
            state = self._known(progress.query)
            state.batches += 1
            state.rows += progress.rows
            for phase, seconds in progress.phase_seconds.items():
                state.phase_seconds[phase] = state.phase_seconds.get(phase, 0.0) + seconds
            state.last = progress
            state.committed_at = now

    def ended(self, query: str, *, is_failed: bool) -> None:
        with self._lock:
            state = self._known(query)
            state.is_active = False
            state.failures += is_failed

    def _known(self, query: str) -> _Query:
        if query not in self._queries:
            if len(self._queries) >= QUERIES_MAX:
                ended = (name for name, each in self._queries.items() if not each.is_active)
                self._queries.pop(next(ended, next(iter(self._queries))))
            self._queries[query] = _Query()
        return self._queries[query]

    def collect(self) -> Iterable[Metric]:
        """Return the metric families of all queries, for prometheus_client."""
        with self._lock:
            return [*_life(self._queries), *_batches(self._queries), *_lags(self._queries)]


def _life(queries: Mapping[str, _Query]) -> Iterable[Metric]:
    active = _gauge(table.ACTIVE)
    failures = _counter(table.FAILURES)
    for name, query in queries.items():
        active.add_metric([name], query.is_active)
        failures.add_metric([name], query.failures)
    return active, failures


def _batches(queries: Mapping[str, _Query]) -> Iterable[Metric]:
    batches = _counter(table.BATCHES)
    rows = _counter(table.ROWS)
    arriving = _gauge(table.INPUT_RATE)
    processed = _gauge(table.PROCESSED_RATE)
    phases = _counter(table.PHASE_SECONDS)
    last = _gauge(table.LAST_PHASE_SECONDS)
    committed = _gauge(table.LAST_COMMIT)
    for name, query in queries.items():
        batches.add_metric([name], query.batches)
        rows.add_metric([name], query.rows)
        for phase, seconds in query.phase_seconds.items():
            phases.add_metric([name, phase], seconds)
        if query.last is not None:
            arriving.add_metric([name], query.last.input_rows_per_second)
            processed.add_metric([name], query.last.processed_rows_per_second)
            committed.add_metric([name], query.committed_at)
            for phase, seconds in query.last.phase_seconds.items():
                last.add_metric([name, phase], seconds)
    return batches, rows, arriving, processed, phases, last, committed


def _lags(queries: Mapping[str, _Query]) -> Iterable[Metric]:
    by_topic = _gauge(table.TOPIC_LAG)
    by_queue = _gauge(table.QUEUE_LAG)
    lost = _counter(table.DATA_LOSS)
    for name, query in queries.items():
        if query.last is None:
            continue
        lost.add_metric([name], query.last.lost)
        for topic, lag in topic_lags(query.last.lag).items():
            by_topic.add_metric([name, topic], lag)
        if len(query.last.lag) <= QUEUES_MAX:
            for queue, lag in query.last.lag.items():
                labels = [name, queue.topic, queue.broker_name, str(queue.queue_id)]
                by_queue.add_metric(labels, lag)
    return by_topic, by_queue, lost


def topic_lags(lag: Mapping[QueueKey, int]) -> dict[str, int]:
    """Return the lag of each topic. Topics beyond TOPICS_MAX, by name, are summed up."""
    topics = sorted({queue.topic for queue in lag})
    shown = set(topics[:TOPICS_MAX])
    sums: dict[str, int] = {}
    for queue, waiting in lag.items():
        topic = queue.topic if queue.topic in shown else OTHER_TOPICS
        sums[topic] = sums.get(topic, 0) + waiting
    return sums


def _gauge(family: Family) -> GaugeMetricFamily:
    return GaugeMetricFamily(family.name, family.help, labels=_labels(family))


def _counter(family: Family) -> CounterMetricFamily:
    """Return a counter. prometheus_client appends `_total` to its name."""
    return CounterMetricFamily(family.name, family.help, labels=_labels(family))


def _labels(family: Family) -> list[str]:
    return [*table.TABLE.base_labels, *family.labels]
