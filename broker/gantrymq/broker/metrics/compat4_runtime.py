"""Reads the metrics that rocketmq-exporter takes from the answer to GET_BROKER_RUNTIME_INFO."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gantrymq.base.disk import Usage
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.state import State
from gantrymq.broker.metrics.base import usage_of
from gantrymq.metrics.family import Family
from gantrymq.metrics.samples import Labels, Samples
from gantrymq.metrics.tables import exporter4 as table
from gantrymq.store.layout import COMMIT_LOG, CONSUME_QUEUE
from gantrymq.wire.version import OWN_VERSION, version_name


def samples(core: Broker) -> Iterator[Samples]:
    """All metrics of this module."""
    state = core.state
    identity, age = state.identity, state.stats.age
    labels = (identity.cluster, identity.address, identity.name)
    slaves = state.replication.followers(state.now) if identity.is_master else ()
    for family, value in (
        (table.BROKER_TPS, state.stats.broker_put.per_second(age)),
        (table.BROKER_QPS, state.stats.broker_got.per_second(age)),
        (table.COMMITLOG_DIFF, max((each.behind_bytes for each in slaves), default=0)),
    ):
        yield Samples(family, ((labels, value),))
    runtime = _labels(state)
    yield from _rates(state, runtime)
    for family, value in (*_totals(state), *_store(core), *_waiting(state), *_classes(state)):
        yield Samples(family, ((runtime, value),))


def _labels(state: State) -> Labels:
    identity = state.identity
    host = identity.address.rpartition(":")[0]
    boot = str(state.started_ms)
    version = version_name(OWN_VERSION)
    return identity.cluster, identity.address, host, version, boot, str(OWN_VERSION)


def _rates(state: State, labels: Labels) -> Iterator[Samples]:
    """Mean rates over three lengths of time; a rate appears once the broker runs for that long."""
    puts, found, missed, transferred = state.stats.averages()
    for families, told in (
        (table.PUT_RATES, puts),
        (table.FOUND_RATES, found),
        (table.MISS_RATES, missed),
        (table.TOTAL_RATES, state.stats.pulls_per_second()),
        (table.TRANSFERRED_RATES, transferred),
    ):
        for family, rate in zip(families, told.split(" "), strict=True):
            if rate:
                yield Samples(family, ((labels, float(rate)),))


def _totals(state: State) -> Sequence[tuple[Family, float]]:
    totals, mornings = state.stats.totals, state.stats.mornings
    return (
        (table.MSG_PUT_TOTAL_TODAY_NOW, totals.plain_puts),
        (table.MSG_PUTTOTAL_TODAYMORNING, mornings.puts_today),
        (table.MSG_PUTTOTAL_YESTERDAYMORNING, mornings.puts_yesterday),
        (table.MSG_GETTOTAL_TODAY_NOW, totals.plain_transferred),
        (table.MSG_GETTOTAL_TODAYMORNING, mornings.gets_today),
        (table.MSG_GETTOTAL_YESTERDAYMORNING, mornings.gets_yesterday),
        (table.PUT_MESSAGE_SIZE_TOTAL, totals.put_bytes),
        (table.PUT_MESSAGE_AVERAGE_SIZE, totals.put_bytes / max(1, totals.puts)),
        (table.PUTMESSAGE_TIMES_TOTAL, totals.puts),
    )


def _store(core: Broker) -> Iterator[tuple[Family, float]]:
    state, store = core.state, core.state.store
    yield table.DISPATCH_BEHIND_BYTES, store.dispatch_behind
    yield table.REMAIN_HOWMANYDATA_TOFLUSH, max(0, store.log.end - store.flushed)
    yield table.COMMITLOG_MINOFFSET, store.log.start
    yield table.COMMITLOG_MAXOFFSET, store.log.end
    yield table.EARLIEST_MESSAGE_TIMESTAMP, core.services.store_values.first_stored_ms
    usage = usage_of(state, COMMIT_LOG)
    if usage is not None:
        yield table.COMMITLOG_DISK_RATIO, _used(usage)
        # As in Java, both sizes include the space that is reserved for root.
        yield table.COMMITLOGDIR_CAPACITY_TOTAL, usage.total_bytes + usage.reserved_bytes
        yield table.COMMITLOGDIR_CAPACITY_FREE, usage.free_bytes + usage.reserved_bytes
    usage = usage_of(state, CONSUME_QUEUE)
    if usage is not None:
        yield table.CONSUMEQUEUE_DISK_RATIO, _used(usage)


def _waiting(state: State) -> Sequence[tuple[Family, float]]:
    admission, now = state.admission, state.now
    latency = admission.latency
    others = max(0, len(state.task_runner) - admission.waiting)
    accepts_ms = state.settings.start_accept_send_request_time_stamp
    return (
        (table.PUTMESSAGE_ENTIRE_TIME_MAX, int(latency.longest_ms)),
        (table.GETMESSAGE_ENTIRE_TIME_MAX, int(state.stats.longest_read_ms)),
        (table.PUT_LATENCY_99, latency.share(0.99, now)),
        (table.PUT_LATENCY_999, latency.share(0.999, now)),
        (table.START_ACCEPT_SENDREQUEST_TIME, accepts_ms),
        (table.SEND_THREADPOOL_QUEUE_SIZE, admission.waiting),
        (table.SEND_THREADPOOLQUEUE_HEADWAIT_TIMEMILLS, int(admission.head_wait(now) * 1000)),
        (table.QUERY_THREADPOOL_QUEUE_SIZE, others),
    )


def _classes(state: State) -> Iterator[tuple[Family, float]]:
    """The number of sends in each class of times; none in the first minute, as in Java."""
    counts = state.admission.latency.distribution(state.now)
    if counts is not None:
        yield from zip(table.PUT_TIME_CLASSES, counts, strict=True)


def _used(usage: Usage) -> float:
    return 1 - usage.free_bytes / usage.total_bytes if usage.total_bytes else 0.0
