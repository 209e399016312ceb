"""Shows the operator to Prometheus; everything is read when it is scraped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.event_publisher import EventPublisher
from gantrymq.operator.kube.leader import LeaderElector
from gantrymq.operator.shell.caches import Caches
from gantrymq.operator.shell.work_runner import WorkRunner

_PREFIX: Final = "gantry_operator"


@final
class OperatorMetrics:
    """Metric families of one operator process. A standby shows only the first three."""

    def __init__(self, client: KubeClient, elector: LeaderElector) -> None:
        self._client = client
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._elector = elector
        self._running: tuple[WorkRunner, Caches, EventPublisher] | None = None

    def show(self, work: WorkRunner, caches: Caches, publisher: EventPublisher) -> None:
        """The operator leads, and runs these."""
        self._running = work, caches, publisher

    def families(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            f"{_PREFIX}_leader", "Whether this process leads", int(self._elector.is_leader)
        )
        requests = CounterMetricFamily(
            f"{_PREFIX}_api_requests",
            "Requests to the Kubernetes API; code 0: no answer",
            labels=["verb", "code"],
        )
        for (verb, code), count in sorted(self._client.answers.items()):
            requests.add_metric([verb, str(code)], count)
        yield requests
        yield CounterMetricFamily(
            f"{_PREFIX}_api_writes",
            "Requests that may have changed something",
            self._client.write_count,
        )
        if self._running is not None:
            work, caches, publisher = self._running
            yield from _work_families(work)
            yield from self._reflector_families(caches)
            yield CounterMetricFamily(
                f"{_PREFIX}_dropped_events",
                "Kubernetes Events not published",
                publisher.dropped + publisher.failed,
            )

    def _reflector_families(self, caches: Caches) -> Iterable[Metric]:
        now = self._clock()
        ages = GaugeMetricFamily(
            f"{_PREFIX}_reflector_silence_seconds",
            "Time since the API last said anything of a kind",
            labels=["kind"],
        )
        objects = GaugeMetricFamily(
            f"{_PREFIX}_cached_objects", "Objects kept in memory", labels=["kind"]
        )
        refused = GaugeMetricFamily(
            f"{_PREFIX}_reflector_refused",
            "Whether the API does not let a kind be listed",
            labels=["kind"],
        )
        for reflector in caches.reflectors:
            refused.add_metric([reflector.title], int(bool(reflector.refusal)))
            ages.add_metric([reflector.title], now - reflector.last_heard)
            objects.add_metric([reflector.title], len(reflector.sink))
        yield ages
        yield refused
        yield objects


def _work_families(work: WorkRunner) -> Iterable[Metric]:
    depth = GaugeMetricFamily(
        f"{_PREFIX}_queue_keys", "Keys in the work queue", labels=["lane", "state"]
    )
    for (lane, state), count in work.depths().items():
        depth.add_metric([lane.value, state], count)
    yield depth
    yield GaugeMetricFamily(
        f"{_PREFIX}_queue_lateness_seconds",
        "How long the oldest due key has waited",
        work.oldest_lateness,
    )
    seconds = CounterMetricFamily(
        f"{_PREFIX}_reconcile_seconds",
        "Time spent on keys, by kind of work and outcome",
        labels=["work", "outcome"],
    )
    done = CounterMetricFamily(
        f"{_PREFIX}_reconciles", "Keys worked on", labels=["work", "outcome"]
    )
    for (kind, outcome), number in sorted(work.counters.outcomes.items()):
        done.add_metric([kind, outcome], number)
        seconds.add_metric([kind, outcome], work.counters.seconds[(kind, outcome)])
    yield done
    yield seconds
