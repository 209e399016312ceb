"""Reconciles the topics of clusters with their Topic resources.

One run of a cluster reads its masters' tables, plans, and carries out a bounded part of the plan.
The next run follows at once and does the rest, so that a topic made while 10 000 others wait for
their statuses does not wait for all of them. A run in which nothing changed costs one request to
each master and no write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from gantrymq.operator.brokers.access import BrokerAccess
from gantrymq.operator.brokers.topic_memory import TopicMemory
from gantrymq.operator.brokers.topic_run import TopicRun
from gantrymq.operator.brokers.topics import ClusterTopics
from gantrymq.operator.topics.api import TopicApi
from gantrymq.operator.topics.plan import needs_order, plan_topics
from gantrymq.operator.topics.steps import TopicsPlan
from gantrymq.operator.topics.values import (
    ClusterStage,
    ClusterView,
    DrainAnswer,
    DrainQuestion,
    Place,
    TopicResource,
    TopicsSnapshot,
)

STEPS_PER_RUN: Final = 1000
"""The number of topics that one run changes: a few seconds of status writes."""

QUESTIONS_PER_RUN: Final = 100
"""The number of drain questions of one run. Each costs a request for each consumer group."""

Connect: TypeAlias = Callable[[tuple[str, ...], BrokerAccess | None], ClusterTopics]


@final
@dataclass(frozen=True, slots=True)
class TopicTarget:
    """A cluster, the addresses of its name servers, and the access to its servers."""

    cluster: ClusterView
    """The groups have addresses but no tables yet."""
    name_servers: tuple[str, ...] = ()
    access: BrokerAccess | None = None
    """The access to a secure cluster; None for an open one."""


@final
@dataclass(frozen=True, slots=True)
class TopicRunReport:
    """What one run found and did."""

    requeue_seconds: float | None = None
    """When to run again without an event; None for the safety interval."""
    unmanaged: tuple[str, ...] | None = None
    """Topics that no resource names; None if no master answered."""
    topics_changed: int = 0
    """The number of topics that were created, changed or deleted at brokers."""
    writes: int = 0
    """The number of requests to the API that changed a resource."""


def _connected(name_servers: tuple[str, ...], access: BrokerAccess | None) -> ClusterTopics:
    return ClusterTopics(name_servers, access=access)


@final
class _Cluster:
    """The state of one cluster between runs."""

    def __init__(self, connection: ClusterTopics) -> None:
        self.connection = connection
        self.memory = TopicMemory()


@final
class TopicController:
    """Runs the topics of all clusters, one run at a time for each cluster.

    A run does not raise failures of brokers. It raises a failure of the API as TopicApiError, at
    its end.
    """

    def __init__(
        self, api: TopicApi, wall: Callable[[], float], connect: Connect = _connected
    ) -> None:
        """`wall` returns the time in seconds since 1970."""
        self._api = api
        self._wall = wall
        self._connect = connect
        self._clusters: dict[tuple[str, str], _Cluster] = {}

    async def close(self) -> None:
        """End all connections."""
        clusters, self._clusters = self._clusters, {}
        await asyncio.gather(*(each.connection.close() for each in clusters.values()))

    async def run_cluster(
        self, target: TopicTarget, topics: Iterable[TopicResource]
    ) -> TopicRunReport:
        """Read, plan, and carry out a part of the plan for the topics of one cluster."""
        cluster = await self._cluster(target)
        seen = cluster.memory.resources(topics)
        snapshot = await self._snapshot(cluster, target.cluster, seen)
        now = self._wall()
        plan = plan_topics(snapshot, now)
        questions = cluster.memory.due(plan.questions, now, QUESTIONS_PER_RUN)
        if questions:
            drained = await _answers(cluster.connection, questions)
            snapshot = replace(snapshot, drained=drained)
            plan = plan_topics(snapshot, now)
        run = TopicRun(cluster.connection, self._api, cluster.memory, snapshot, now)
        current = [each for each in plan.steps if not cluster.memory.is_stale(each.resource)]
        steps = current[:STEPS_PER_RUN]
        await run.carry_out(steps)
        is_unfinished = len(steps) < len(current) or run.is_unfinished
        report = TopicRunReport(
            requeue_seconds=0.0 if is_unfinished else _sooner(plan, run.retry_s),
            unmanaged=plan.unmanaged,
            topics_changed=run.topics_changed,
            writes=run.writes,
        )
        if run.failure is not None:
            raise run.failure
        return report

    async def _cluster(self, target: TopicTarget) -> _Cluster:
        """Return the state of a cluster, with new connections if its name servers or its access
        have changed."""
        key = (target.cluster.namespace, target.cluster.name)
        known = self._clusters.get(key)
        wanted = (target.name_servers, target.access)
        if known is not None and wanted == (known.connection.name_servers, known.connection.access):
            return known
        connection = self._connect(*wanted)
        await connection.start()
        if known is not None:
            old, known.connection = known.connection, connection
            await old.close()
            return known
        return self._clusters.setdefault(key, _Cluster(connection))

    async def forget(self, namespace: str, name: str) -> None:
        """Close the connections of a cluster that is gone and that no Topic names."""
        cluster = self._clusters.pop((namespace, name), None)
        if cluster is not None:
            await cluster.connection.close()

    async def _snapshot(
        self, cluster: _Cluster, view: ClusterView, topics: tuple[TopicResource, ...]
    ) -> TopicsSnapshot:
        connection, memory = cluster.connection, cluster.memory
        if view.stage is ClusterStage.PRESENT and view.groups is not None:
            groups = await asyncio.gather(
                *(connection.read(view.name, each) for each in view.groups)
            )
            view = replace(view, groups=tuple(groups))
            connection.keep(view.name, groups)
            await memory.forget_routes(connection, view.name)
        snapshot = TopicsSnapshot(view, topics, refusals=memory.refusals, made=memory.made)
        if view.stage is ClusterStage.PRESENT and needs_order(snapshot):
            snapshot = replace(snapshot, order=await connection.order_tables())
        return snapshot


async def _answers(
    connection: ClusterTopics, questions: Iterable[DrainQuestion]
) -> Mapping[Place, DrainAnswer]:
    asked = tuple(questions)
    answers = await asyncio.gather(*map(connection.drained, asked))
    found = zip(asked, answers, strict=True)
    return {each.place: answer for each, answer in found if answer is not None}


def _sooner(plan: TopicsPlan, retry_s: float | None) -> float | None:
    times = [each for each in (plan.requeue_seconds, retry_s) if each is not None]
    return min(times, default=None)
