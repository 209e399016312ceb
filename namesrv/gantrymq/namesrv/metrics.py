"""Reads a name server's metrics from its core."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import namesrv as table
from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.wire.codes import RequestCode, ResponseCode


def samples(core: NameServer) -> Iterator[Samples]:
    """All metrics of the core."""
    counters, routes = core.counters, core.state.routes
    yield Samples(
        table.REQUESTS,
        [
            ((RequestCode(code).name if code >= 0 else "OTHER", ResponseCode(outcome).name), count)
            for (code, outcome), count in counters.requests.items()
        ],
    )
    failures = core.throttle.counts.items()
    yield Samples(table.AUTHENTICATION_FAILURES, [((name.value,), n) for name, n in failures])
    yield one(table.QUOTA_DELAYS, core.quota.counts.delays)
    yield one(table.QUOTA_DELAY_SECONDS, core.quota.counts.delay_seconds)
    yield one(table.QUOTA_REFUSALS, core.quota.counts.refusals)
    yield Samples(
        table.REGISTRATIONS,
        [
            (("applied",), counters.registrations_applied),
            (("unchanged",), counters.registrations_unchanged),
            (("refused",), counters.registrations_refused),
        ],
    )
    yield one(table.ROUTE_MISSES, counters.route_misses)
    yield one(table.EXPIRED_BROKERS, counters.expired_brokers)
    yield one(table.BROKERS, len(routes.members))
    yield one(table.BROKER_NAMES, len(routes.groups))
    yield one(table.CLUSTERS, len(routes.clusters))
    yield one(table.TOPICS, len(routes.topics))
    yield one(table.ANSWER_CACHE, core.state.answers.bytes_kept)
