"""Reads the metrics of `/metrics/compat4`, which have the names of rocketmq-exporter.

The exporter is a program of its own that queries brokers once a minute. This page shows what it
would show about this broker, without it and without the delay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.monitoring.lag import NONE_MS, UNKNOWN_MS, GroupLag
from gantrymq.broker.core.names.name_rules import DLQ_PREFIX, RETRY_PREFIX
from gantrymq.broker.core.state import State
from gantrymq.broker.metrics import compat4_runtime
from gantrymq.metrics.family import Family
from gantrymq.metrics.samples import Labels, Row, Samples
from gantrymq.metrics.tables import exporter4 as table

# RocketMQ's numbers for the two message models.
_BROADCASTING: Final = "0"
_CLUSTERING: Final = "1"


def samples(core: Broker) -> Iterator[Samples]:
    """All metrics of the page."""
    state = core.state
    state.stats.take_kernel()
    yield from _topics(state)
    yield from _groups(core)
    yield from _consumption(state)
    yield from _connections(state)
    yield from compat4_runtime.samples(core)


def _topics(state: State) -> Iterator[Samples]:
    cluster, broker, age = state.identity.cluster, state.identity.name, state.stats.age
    stats = state.stats
    yield Samples(
        table.PRODUCER_TPS,
        (
            ((cluster, broker, topic), series.per_second(age))
            for topic, series in stats.topic_series()
        ),
    )
    yield Samples(
        table.PRODUCER_SIZE,
        (
            ((cluster, broker, topic), series.sizes(age)[0].total)
            for topic, series in stats.topic_series()
        ),
    )
    yield Samples(table.PRODUCER_OFFSET, _offsets(state, is_retry=False))
    yield Samples(table.RETRY_OFFSET, _offsets(state, is_retry=True))


def _offsets(state: State, *, is_retry: bool) -> Iterator[Row]:
    """The sum of the end offsets of each topic. Dead-letter topics have a metric of their own."""
    cluster, broker = state.identity.cluster, state.identity.name
    for topic in list(state.topics.all):
        if topic.startswith(RETRY_PREFIX) == is_retry and not topic.startswith(DLQ_PREFIX):
            yield (cluster, broker, topic), sum(end for _, end in _bounds(state, topic))


def _bounds(state: State, topic: str) -> Iterator[tuple[int, int]]:
    """The offsets of the first and of the next message of each queue."""
    queues = state.store.queues
    for queue_id in queues.queue_ids(topic):
        queue = queues.find(topic, queue_id)
        if queue is not None:
            yield queue.minimum, queue.end


# ---------------------------------------------------------------- groups


def _groups(core: Broker) -> Iterator[Samples]:
    """The metrics of each group in each topic: offsets, lag and latency."""
    state = core.state
    cluster, broker = state.identity.cluster, state.identity.name

    def rows(value_of: Callable[[GroupLag], float]) -> Iterator[Row]:
        for each in _lags(core):
            yield (cluster, broker, each.topic, each.group), value_of(each)

    offset = _acknowledged(state)
    for family, value_of in (
        (table.CONSUMER_OFFSET, offset),
        (table.CONSUME_TOTAL, offset),
        (table.ACCUMULATION, _lag),
        (table.GET_LATENCY, _age(state)),
    ):
        yield Samples(family, rows(value_of))
    yield Samples(
        table.GROUP_DIFF,
        ((_diff_labels(state, each.group, each.topic), each.lag) for each in _lags(core)),
    )
    yield Samples(table.GROUP_RETRY_DIFF, _retry_lags(state))
    yield from _dead_letters(state)


def _lags(core: Broker) -> Iterator[GroupLag]:
    return (each for each in core.services.store_values.lags if not each.is_retry)


def _lag(each: GroupLag) -> float:
    return each.lag


def _acknowledged(state: State) -> Callable[[GroupLag], float]:
    def value_of(each: GroupLag) -> float:
        return sum(state.offsets.queues(each.group, each.topic).values())

    return value_of


def _age(state: State) -> Callable[[GroupLag], float]:
    def value_of(each: GroupLag) -> float:
        is_known = each.lag_since_ms not in {NONE_MS, UNKNOWN_MS}
        return max(0, state.wall_ms - each.lag_since_ms) if is_known else 0

    return value_of


def _diff_labels(state: State, group: str, topic: str) -> Labels:
    members = state.clients.consumers.get(group)
    count = 0 if members is None else len(members.client_ids())
    is_broadcasting = members is not None and members.is_broadcasting
    return group, topic, str(count), _BROADCASTING if is_broadcasting else _CLUSTERING


def _retry_lags(state: State) -> Iterator[Row]:
    for group in list(state.groups.all):
        topic = RETRY_PREFIX + group
        if state.topics.find(topic) is not None:
            known = state.offsets.queues(group, topic)
            lag = 0
            for queue_id in state.store.queues.queue_ids(topic):
                queue = state.store.queues.find(topic, queue_id)
                if queue is not None:
                    lag += max(0, queue.end - max(queue.minimum, known.get(queue_id, 0)))
            yield _diff_labels(state, group, topic), lag


def _dead_letters(state: State) -> Iterator[Samples]:
    cluster, broker = state.identity.cluster, state.identity.name
    topics = [
        (group, DLQ_PREFIX + group)
        for group in list(state.groups.all)
        if state.topics.find(DLQ_PREFIX + group) is not None
    ]
    yield Samples(
        table.DLQ_OFFSET,
        (
            ((cluster, broker, group), sum(end for _, end in _bounds(state, topic)))
            for group, topic in topics
        ),
    )
    yield Samples(
        table.GROUP_DLQ_DIFF,
        (
            (
                _diff_labels(state, group, topic),
                sum(end - minimum for minimum, end in _bounds(state, topic)),
            )
            for group, topic in topics
        ),
    )


# ---------------------------------------------------------------- consumption and connections


def _consumption(state: State) -> Iterator[Samples]:
    cluster, broker, age = state.identity.cluster, state.identity.name, state.stats.age
    stats = state.stats

    def rates(family: Family) -> Samples:
        return Samples(
            family,
            (
                ((cluster, broker, topic, group), series.per_second(age))
                for (topic, group), series in stats.group_series()
            ),
        )

    yield rates(table.CONSUMER_TPS)
    yield rates(table.CONSUME_TPS)
    yield Samples(
        table.CONSUMER_SIZE,
        (
            ((cluster, broker, topic, group), series.sizes(age)[0].total)
            for (topic, group), series in stats.group_series()
        ),
    )
    yield Samples(
        table.SEND_BACK,
        (
            ((cluster, broker, topic, group), series.counts(age)[0].total)
            for (topic, group), series in stats.return_series()
        ),
    )


def _connections(state: State) -> Iterator[Samples]:
    cluster, broker = state.identity.cluster, state.identity.name
    own_address = state.identity.address
    yield Samples(
        table.GROUP_COUNT,
        [
            ((client.channel.peer, own_address, group.name), 1)
            for group in state.clients.consumers.values()
            for client in group.clients.values()
        ],
    )
    yield Samples(
        table.PRODUCER_COUNT,
        [
            ((cluster, broker, group), len(members))
            for group, members in state.clients.producers.items()
        ],
    )
