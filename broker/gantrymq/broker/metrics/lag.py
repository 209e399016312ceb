"""Reads the metrics of consumer lag, as the last pass over the store found them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.monitoring.lag import UNKNOWN_MS, GroupLag
from gantrymq.broker.metrics.base import age_ms, is_system, truth
from gantrymq.metrics.samples import Labels, Row, Samples
from gantrymq.metrics.tables import broker, rocketmq5


def samples(core: Broker, base: str) -> Iterator[Samples]:
    """All metrics of this module. Metrics of times have no series for a group whose time is not
    known yet."""
    state = core.state
    lags, wall_ms = core.services.store_values.lags, state.wall_ms
    for family, value_of in (
        (rocketmq5.LAG_MESSAGES, _lag),
        (rocketmq5.INFLIGHT, _inflight),
        (rocketmq5.READY, _ready),
    ):
        yield Samples(family, ((_labels(each), value_of(each)) for each in lags), base)
    for family, since_of in (
        (rocketmq5.LAG_LATENCY, _lag_since),
        (rocketmq5.QUEUEING_LATENCY, _ready_since),
    ):
        yield Samples(family, _ages(lags, since_of, wall_ms), base)
    if state.settings.metrics_queue_lag_enable:
        yield Samples(broker.QUEUE_LAG, _queue_lags(lags), base)
    yield Samples(
        broker.OLDEST_UNACKNOWLEDGED,
        (
            ((each.group, each.topic), age_ms(each.lag_since_ms, wall_ms) / 1000)
            for each in lags
            if each.inflight and not each.is_retry and each.lag_since_ms != UNKNOWN_MS
        ),
        base,
    )


def _labels(each: GroupLag) -> Labels:
    return each.group, each.topic, truth(each.is_retry), is_system(each.topic, each.group)


def _queue_lags(lags: Sequence[GroupLag]) -> Iterator[Row]:
    for each in lags:
        for queue_id, lag in each.queues:
            yield (*_labels(each), str(queue_id)), lag


def _lag(each: GroupLag) -> int:
    return each.lag


def _inflight(each: GroupLag) -> int:
    return each.inflight


def _ready(each: GroupLag) -> int:
    return each.ready


def _lag_since(each: GroupLag) -> int:
    return each.lag_since_ms


def _ready_since(each: GroupLag) -> int:
    return each.ready_since_ms


def _ages(
    lags: Sequence[GroupLag], since_of: Callable[[GroupLag], int], wall_ms: int
) -> Iterator[Row]:
    for each in lags:
        since_ms = since_of(each)
        if since_ms != UNKNOWN_MS:
            yield _labels(each), age_ms(since_ms, wall_ms)
