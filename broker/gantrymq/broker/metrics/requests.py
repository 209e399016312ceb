"""Reads the metrics of requests: latencies, outcomes, flow control, and memory of waiting ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gantrymq.base.memory_account import LABELS, Kind
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.figures.requests import LONG_POLLING, ONEWAY, UNKNOWN_CODE
from gantrymq.broker.metrics.base import PROTOCOL, truth
from gantrymq.metrics.samples import Row, Samples, one
from gantrymq.metrics.tables import broker, rocketmq5
from gantrymq.wire.codes import RequestCode, ResponseCode

# RocketMQ's thread pools, of which this broker has none. Waiting sends are shown under `send` and
# all other waiting requests under `admin`.
_SENDS: Final = "send"
_OTHERS: Final = "admin"
_POOLS: Final = (
    _SENDS,
    "async_put",
    "pull",
    "lite_pull",
    "ack",
    "query_message",
    "client_manager",
    "heartbeat",
    "consumer_manager",
    "transaction",
    "reply",
    _OTHERS,
)

_QUANTILES: Final = (("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999))


def samples(core: Broker, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    state = core.state
    yield Samples(rocketmq5.RPC_LATENCY, list(_latencies(core)), base)
    counts = state.request_figures.counts()
    yield Samples(
        broker.REQUESTS,
        [
            ((_request_name(code), _response_name(outcome)), count)
            for (code, outcome), count in counts.items()
        ],
        base,
    )
    failures = state.access.throttle.counts.items()
    rows = [((name.value,), count) for name, count in failures]
    yield Samples(broker.AUTHENTICATION_FAILURES, rows, base)
    waiting = {_SENDS: state.admission.waiting}
    waiting[_OTHERS] = max(0, len(state.task_runner) - state.admission.waiting)
    yield Samples(
        rocketmq5.PROCESSOR_WATERMARK, [((pool,), waiting.get(pool, 0)) for pool in _POOLS], base
    )
    yield one(broker.WORKS, len(state.task_runner), base)
    yield from _sends(core, base)


def _latencies(core: Broker) -> Iterator[Row]:
    for (code, answered, way), latency in core.state.request_figures.latencies.items():
        result = "oneway" if way == ONEWAY else "success"
        labels = (PROTOCOL, _request_name(code).lower(), _response_name(answered).lower())
        yield (*labels, truth(way == LONG_POLLING), result), latency


def _sends(core: Broker, base: str) -> Iterator[Samples]:
    state = core.state
    latency, now = state.admission.latency, state.now
    shares = [((name,), latency.share(share, now) / 1000) for name, share in _QUANTILES]
    yield Samples(broker.PUT_LATENCY, shares, base)
    yield one(broker.SENDS_WAITING_SECONDS, state.admission.head_wait(now), base)
    causes = sorted(state.request_figures.flow_control.items())
    yield Samples(broker.FLOW_CONTROL, [((cause,), count) for cause, count in causes], base)
    is_refusing = state.identity.is_master and state.store.refusal() is not None
    yield one(broker.REFUSING_WRITES, is_refusing, base)
    accounts = list(_accounts(core))
    yield Samples(broker.MEMORY, [((name,), held) for name, held, _ in accounts], base)
    yield Samples(broker.MEMORY_LIMIT, [((name,), limit) for name, _, limit in accounts], base)


def _accounts(core: Broker) -> Iterator[tuple[str, int, int]]:
    """By kind of data kept for peers: its bytes and their limit; then the totals."""
    memory = core.state.memory
    core.state.table_memory.count()
    for kind, name in LABELS.items():
        if kind is not Kind.ROUTES:
            yield name, memory.held_of(kind), memory.limit_of(kind)
    yield "all", memory.held, memory.limit


def _request_name(code: int) -> str:
    return "OTHER" if code == UNKNOWN_CODE else RequestCode(code).name


def _response_name(code: int) -> str:
    return "OTHER" if code == UNKNOWN_CODE else ResponseCode(code).name
