"""A broker's numbers as Prometheus families; read from the core when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.state import State
from gantrymq.store.sessions.table import ProducerSessions
from gantrymq.wire.codes import RequestCode, ResponseCode

PREFIX: Final = "gantry_broker_"


def families(core: Broker) -> Iterable[Metric]:
    """What the core counts."""
    yield _requests(core)
    state = core.state
    yield from _replication(state)
    yield from _sessions(state.store.sessions)
    for name, about, size in (
        ("topics", "Topics", len(state.topics)),
        ("groups", "Consumer groups", len(state.groups)),
        ("works", "Requests that wait for the store, a client or a file", len(state.works)),
        ("dispatch_behind_bytes", "Bytes of the log that queues and index do not know yet",
         state.store.dispatch_behind),
    ):  # fmt: skip
        yield GaugeMetricFamily(PREFIX + name, about, size)


def _replication(state: State) -> Iterable[Metric]:
    """Of a master each slave that is connected, of a slave its master. RocketMQ has no metrics of
    replication."""
    if state.identity.is_master:
        behind = GaugeMetricFamily(
            f"{PREFIX}slave_behind_bytes",
            "Bytes of the log that a slave lacks",
            labels=["slave"],
        )
        in_sync = GaugeMetricFamily(
            f"{PREFIX}slave_in_sync", "Whether a slave is close behind", labels=["slave"]
        )
        for follower in state.replication.followers(state.now):
            behind.add_metric([follower.address], follower.behind_bytes)
            in_sync.add_metric([follower.address], follower.is_in_sync)
        yield from (behind, in_sync)
        return
    following = state.replication.following()
    heard_ms = 0 if following is None else following.last_read_ms
    for name, about, value in (
        ("master_known", "Whether name servers know a master", bool(state.following.master)),
        ("master_heard_timestamp_seconds", "When the master was heard last", heard_ms / 1000),
        ("master_tables_not_copied", "Tables of the master whose last copy failed",
         sum(fault is not None for fault in state.copying.faults.values())),
    ):  # fmt: skip
        yield GaugeMetricFamily(PREFIX + name, about, value)


def _sessions(sessions: ProducerSessions) -> Iterable[Metric]:
    """Of producer sessions."""
    yield GaugeMetricFamily(
        f"{PREFIX}producer_sessions", "Producer sessions that are known", len(sessions)
    )
    forgotten = CounterMetricFamily(
        f"{PREFIX}producer_sessions_forgotten",
        "Producer sessions that were forgotten, by the bound that they met",
        labels=["setting"],
    )
    forgotten.add_metric(["producerSessionHours"], sessions.expired)
    forgotten.add_metric(["producerSessionsMax"], sessions.evicted)
    yield forgotten
    for name, about, value in (
        ("messages_repeated", "Messages that were sent again and not stored again",
         sessions.repeats),
        ("session_sends_refused", "Sends that were fenced or out of sequence", sessions.refused),
    ):  # fmt: skip
        yield CounterMetricFamily(PREFIX + name, about, value)


def _requests(core: Broker) -> Metric:
    family = CounterMetricFamily(
        f"{PREFIX}requests", "Requests by code and outcome", labels=["code", "outcome"]
    )
    for (code, outcome), count in core.counters.items():
        asked = RequestCode(code).name if code >= 0 else "OTHER"
        family.add_metric([asked, ResponseCode(outcome).name], count)
    return family
