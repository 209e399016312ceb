"""Reads the metrics of the store: sizes, backlogs, writes and syncs of the log, and the disk."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.metrics.base import STORE_LABELS, age_ms, usage_of
from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker, rocketmq5
from gantrymq.store.layout import COMMIT_LOG


def samples(core: Broker, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    state, values = core.state, core.services.store_values
    store = state.store
    log = store.log
    for family, value in (
        (rocketmq5.STORAGE_SIZE, log.end - log.start),
        (rocketmq5.FLUSH_BEHIND, max(0, log.end - store.flushed)),
        (rocketmq5.DISPATCH_BEHIND, store.dispatch_behind),
        (rocketmq5.RESERVE_TIME, age_ms(values.first_stored_ms, state.wall_ms)),
    ):
        yield Samples(family, ((STORE_LABELS, value),), base)
    yield one(broker.DISPATCH_BEHIND, store.dispatch_behind, base)
    yield one(broker.OLDEST_HALF, age_ms(values.oldest_half_ms, state.wall_ms) / 1000, base)
    yield one(broker.LOG_WRITES, log.writes, base)
    yield one(broker.LOG_WRITTEN, state.stats.totals.puts, base)
    if store.sync_seconds is not None:
        yield Samples(broker.LOG_SYNC, (((), store.sync_seconds),), base)
    usage = usage_of(state, COMMIT_LOG)
    if usage is not None:
        yield one(broker.DISK_SIZE, usage.total_bytes, base)
        yield one(broker.DISK_FREE, usage.free_bytes, base)
