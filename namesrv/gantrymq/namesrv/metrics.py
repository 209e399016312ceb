"""A name server's numbers as Prometheus families; read from the core when somebody scrapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.wire.codes import RequestCode, ResponseCode

PREFIX: Final = "gantry_namesrv_"


def families(core: NameServer) -> Iterable[Metric]:
    """Everything the core counts."""
    yield _requests(core)
    counters, routes = core.counters, core.state.routes
    registrations = CounterMetricFamily(
        f"{PREFIX}registrations", "Registrations of brokers", labels=["outcome"]
    )
    registrations.add_metric(["applied"], counters.registrations_applied)
    registrations.add_metric(["unchanged"], counters.registrations_unchanged)
    registrations.add_metric(["refused"], counters.registrations_refused)
    yield registrations
    for name, about, count in (
        ("route_misses", "Questions for topics without a route", counters.route_misses),
        ("expired_brokers", "Brokers removed for silence", counters.expired_brokers),
    ):
        yield CounterMetricFamily(PREFIX + name, about, count)
    for name, about, size in (
        ("brokers", "Living brokers", len(routes.members)),
        ("broker_names", "Broker names", len(routes.groups)),
        ("clusters", "Clusters", len(routes.clusters)),
        ("topics", "Topics", len(routes.topics)),
        ("answer_cache_bytes", "Encoded routes kept", core.state.answers.bytes_kept),
    ):
        yield GaugeMetricFamily(PREFIX + name, about, size)


def _requests(core: NameServer) -> Metric:
    family = CounterMetricFamily(
        f"{PREFIX}requests", "Requests by code and outcome", labels=["code", "outcome"]
    )
    for (code, outcome), count in core.counters.requests.items():
        asked = RequestCode(code).name if code >= 0 else "OTHER"
        family.add_metric([asked, ResponseCode(outcome).name], count)
    return family
