"""Exports the metrics of the operator. All values are read at each scrape."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import final

from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import kubernetes_operator as table
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.event_publisher import EventPublisher
from gantrymq.operator.kube.leading.leader import LeaderElector
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.shell.work.work_runner import WorkRunner


@final
class OperatorMetrics:
    """Reads the metrics of one operator process. A standby exports only whether it leads, and its
    API requests."""

    def __init__(self, client: KubeClient, elector: LeaderElector) -> None:
        self._client = client
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._elector = elector
        self._running: tuple[WorkRunner, Caches, EventPublisher] | None = None

    def show(self, work: WorkRunner, caches: Caches, publisher: EventPublisher) -> None:
        """Export the parts of a leading operator too."""
        self._running = work, caches, publisher

    def samples(self) -> Iterator[Samples]:
        yield one(table.LEADER, self._elector.is_leader)
        yield Samples(
            table.API_REQUESTS,
            [
                ((verb, str(code)), count)
                for (verb, code), count in sorted(self._client.answers.items())
            ],
        )
        yield one(table.API_WRITES, self._client.write_count)
        if self._running is not None:
            work, caches, publisher = self._running
            yield from _work_samples(work)
            yield from self._reflector_samples(caches)
            yield one(table.DROPPED_EVENTS, publisher.dropped + publisher.failed)

    def _reflector_samples(self, caches: Caches) -> Iterator[Samples]:
        now = self._clock()
        reflectors = caches.reflectors
        yield Samples(
            table.REFLECTOR_SILENCE, [((each.title,), now - each.last_heard) for each in reflectors]
        )
        yield Samples(
            table.REFLECTOR_REFUSED,
            [((each.title,), int(bool(each.refusal))) for each in reflectors],
        )
        yield Samples(
            table.CACHED_OBJECTS, [((each.title,), len(each.sink)) for each in reflectors]
        )


def _work_samples(work: WorkRunner) -> Iterator[Samples]:
    yield Samples(
        table.QUEUE_KEYS,
        [((lane.value, state), count) for (lane, state), count in work.depths().items()],
    )
    yield one(table.QUEUE_LATENESS, work.oldest_lateness)
    outcomes = sorted(work.counters.outcomes.items())
    yield Samples(table.RECONCILES, outcomes)
    yield Samples(
        table.RECONCILE_SECONDS, [(labels, work.counters.seconds[labels]) for labels, _ in outcomes]
    )
