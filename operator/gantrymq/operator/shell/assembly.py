"""Assembles the leading operator: reflectors, work queue and controllers.

Every event puts a key into the work queue, and the jobs of the queue do all the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.brokers.known_secrets import KnownSecretsReader
from gantrymq.operator.brokers.pages import BrokerPages
from gantrymq.operator.brokers.readiness import ReadinessReader
from gantrymq.operator.brokers.replication import ReplicationReader
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.event_publisher import EventPublisher
from gantrymq.operator.kube.executor import Executor
from gantrymq.operator.kube.status_writer import StatusWriter
from gantrymq.operator.kube.watch.reflector import DEFAULT_PACE, Pace, RandomSource
from gantrymq.operator.plan.objects.names import BROKER_METRICS_PORT
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.shell.work.controller import CLUSTERS, ClusterController, Planner
from gantrymq.operator.shell.work.resync import RESYNC, Resync
from gantrymq.operator.shell.work.snapshot_reader import SnapshotReader
from gantrymq.operator.shell.work.topic_work import TOPICS, TopicSink, TopicWork
from gantrymq.operator.shell.work.work_queue import QueueLane, WorkQueue
from gantrymq.operator.shell.work.work_runner import Job, WorkRunner
from gantrymq.operator.topics.index import TopicIndex

# One reconciliation handles all events of a burst, such as those of pods that start.
COALESCE_SECONDS: Final = 0.1
# A change of nodes concerns every cluster, but is rarely urgent.
PLACEMENT_SECONDS: Final = 1.0

Task = tuple[str, Coroutine[None, None, None]]
"""A name, and a coroutine that runs until it is cancelled."""


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an operator. Tests replace the planner, the pace and the randomness."""

    client: KubeClient
    defaults: OperatorDefaults
    planner: Planner
    random: RandomSource
    identity: str = "gantry-operator"
    namespaces: Sequence[str] = ()
    pace: Pace = DEFAULT_PACE
    metrics_port: int = BROKER_METRICS_PORT
    """The metrics port of brokers."""
    wall: Callable[[], float] = time.time


@final
class Operator:
    """All that runs while this process leads, apart from kopf. Create it on the event loop."""

    def __init__(self, parts: Parts) -> None:
        self.caches = Caches(parts.client, parts.namespaces, parts.random, parts.pace)
        self.publisher = EventPublisher(parts.client, parts.identity)
        self._parts = parts
        self._pages = BrokerPages(parts.metrics_port)
        self._replication = ReplicationReader()
        index = TopicIndex()
        self.caches.add(
            kinds.TOPIC, lambda namespace: TopicSink(index, namespace, self._topics_changed)
        )
        self._topics = TopicWork(
            parts.client, self.caches, index, parts.wall, parts.random, self._unmanaged_changed
        )
        self.clusters = ClusterController(
            parts.client,
            SnapshotReader(
                parts.client,
                self.caches,
                parts.defaults,
                self._replication,
                ReadinessReader(self._pages),
                KnownSecretsReader(self._pages),
                self._topics.unmanaged,
            ),
            parts.planner,
            Executor(parts.client, self.caches.written, self.caches.gone),
            StatusWriter(parts.client),
            self.publisher,
            parts.random,
            parts.wall,
        )
        self._resync = Resync(parts.client, self.resource_changed, parts.random)
        jobs: dict[str, tuple[QueueLane, Job]] = {
            CLUSTERS: (QueueLane.URGENT, self.clusters.reconcile),
            TOPICS: (QueueLane.BULK, self._topics.run),
            RESYNC: (QueueLane.URGENT, self._resync.run),
        }
        self.work = WorkRunner(WorkQueue(parts.random), jobs)
        self.caches.on_cluster = self.cluster_changed
        self.caches.on_master = self.resource_changed
        self.caches.on_placement = self._placement_changed

    async def start(self) -> list[Task]:
        """Open connections; return the tasks that the process must run."""
        await self._pages.start()
        for key in self._resync.keys(self._parts.namespaces):
            self.work.put(key)
        return [
            *((f"reflector of {each.title}", each.run()) for each in self.caches.reflectors),
            ("work", self.work.run()),
            ("events", self.publisher.run()),
        ]

    async def close(self) -> None:
        await self._topics.close()
        await self._replication.close()
        await self._pages.close()

    def resource_changed(self, namespace: str, name: str) -> None:
        """Note that a BrokerCluster appeared, changed or disappeared."""
        self.cluster_changed(namespace, name)
        self._topics_changed(namespace, name)

    def cluster_changed(self, namespace: str, name: str) -> None:
        """Note that an object of this cluster changed."""
        self.work.put((CLUSTERS, namespace, name), COALESCE_SECONDS)

    # ------------------------------------------------------------------ keys of changes

    def _topics_changed(self, namespace: str, cluster: str) -> None:
        if cluster:
            self.work.put((TOPICS, namespace, cluster), COALESCE_SECONDS)

    def _unmanaged_changed(self, namespace: str, cluster: str) -> None:
        self.work.put((CLUSTERS, namespace, cluster), COALESCE_SECONDS)

    def _placement_changed(self) -> None:
        for key in self.clusters.resources:
            self.work.put(key, PLACEMENT_SECONDS)
