"""Reads the metrics of messages: in and out, dead letters, transactions, timers and POP."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.state import State
from gantrymq.broker.metrics.base import STORE_LABELS, is_retry_or_dead, is_system
from gantrymq.metrics.samples import Row, Samples, one
from gantrymq.metrics.tables import broker, rocketmq5


def samples(core: Broker, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    state = core.state
    state.stats.take_kernel()
    yield from _in(state, base)
    yield from _out(state, base)
    yield from _retries(state, base)
    yield from _transactions(state, base)
    yield from _timers(core, base)


def _in(state: State, base: str) -> Iterator[Samples]:
    sent = state.figures.sent
    yield Samples(
        rocketmq5.MESSAGES_IN,
        (
            ((topic, kind, is_system(topic)), counts.messages)
            for (topic, kind), counts in sent.items()
        ),
        base,
    )
    yield Samples(
        rocketmq5.THROUGHPUT_IN,
        (((topic, kind, is_system(topic)), counts.size) for (topic, kind), counts in sent.items()),
        base,
    )
    yield Samples(
        rocketmq5.MESSAGE_SIZE,
        (((topic, kind, is_system(topic)), counts.sizes) for (topic, kind), counts in sent.items()),
        base,
    )


def _out(state: State, base: str) -> Iterator[Samples]:
    """Messages that consumers got. As in RocketMQ, those from retry and dead-letter topics do not
    count here."""

    def rows(*, is_size: bool) -> Iterator[Row]:
        for (topic, group), series in state.stats.group_series():
            if not is_retry_or_dead(topic):
                value = series.size if is_size else series.count
                yield (topic, group, is_system(topic, group)), value

    yield Samples(rocketmq5.MESSAGES_OUT, rows(is_size=False), base)
    yield Samples(rocketmq5.THROUGHPUT_OUT, rows(is_size=True), base)


def _retries(state: State, base: str) -> Iterator[Samples]:
    figures = state.figures
    yield Samples(
        rocketmq5.SEND_TO_DLQ,
        (
            ((group, topic, is_system(topic, group)), count)
            for (group, topic), count in figures.dead.items()
        ),
        base,
    )
    yield Samples(
        broker.SENT_BACK,
        (((group, topic), series.count) for (topic, group), series in state.stats.return_series()),
        base,
    )
    yield Samples(
        rocketmq5.POP_RETRIED,
        (
            ((group, topic, "PUT_OK"), count)
            for (group, topic), count in figures.popped_again.items()
        ),
        base,
    )
    yield one(rocketmq5.POP_CHECKPOINTS, len(state.in_flight), base)


def _transactions(state: State, base: str) -> Iterator[Samples]:
    figures = state.figures
    for family, tally in (
        (rocketmq5.COMMITTED, figures.committed),
        (rocketmq5.ROLLED_BACK, figures.rolled_back),
    ):
        yield Samples(family, (((topic,), count) for topic, count in tally.items()), base)
    halves = figures.open_halves()
    yield Samples(
        rocketmq5.HALF_MESSAGES, (((topic,), count) for topic, count in halves.items()), base
    )
    seconds = figures.finish_seconds.items()
    yield Samples(rocketmq5.FINISH_LATENCY, (((topic,), each) for topic, each in seconds), base)


def _timers(core: Broker, base: str) -> Iterator[Samples]:
    state, timers = core.state, core.services.timer_service
    figures = state.figures
    for family, value in (
        (rocketmq5.TIMER_ENQUEUE_LAG, timers.untaken),
        (rocketmq5.TIMER_DEQUEUE_LAG, timers.count),
        (rocketmq5.TIMER_DEQUEUE_LATENCY, timers.late_ms(state.wall_ms)),
    ):
        yield Samples(family, ((STORE_LABELS, value),), base)
    for family, tally in (
        (rocketmq5.TIMER_ENQUEUED, figures.timers_in),
        (rocketmq5.TIMER_DEQUEUED, figures.timers_out),
    ):
        rows = (((topic, *STORE_LABELS), count) for topic, count in tally.items())
        yield Samples(family, rows, base)
    outcomes = sorted(timers.counters.items())
    yield Samples(broker.TIMERS, (((outcome,), count) for outcome, count in outcomes), base)
