"""A broker's numbers as Prometheus families; read from the core when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gantrymq.broker.core.broker import Broker
from gantrymq.wire.codes import RequestCode, ResponseCode

PREFIX: Final = "gantry_broker_"


def families(core: Broker) -> Iterable[Metric]:
    """What the core counts."""
    yield _requests(core)
    state = core.state
    for name, about, size in (
        ("topics", "Topics", len(state.topics)),
        ("groups", "Consumer groups", len(state.groups)),
        ("works", "Requests that wait for the store, a client or a file", len(state.works)),
        ("dispatch_behind_bytes", "Bytes of the log that queues and index do not know yet",
         state.store.dispatch_behind),
    ):  # fmt: skip
        yield GaugeMetricFamily(PREFIX + name, about, size)


def _requests(core: Broker) -> Metric:
    family = CounterMetricFamily(
        f"{PREFIX}requests", "Requests by code and outcome", labels=["code", "outcome"]
    )
    for (code, outcome), count in core.counters.items():
        asked = RequestCode(code).name if code >= 0 else "OTHER"
        family.add_metric([asked, ResponseCode(outcome).name], count)
    return family
