"""Reconciles one BrokerCluster: snapshot, plan, actions, status.

The status is written even if an action was refused: the plan says what is wanted and what waits,
and the next snapshot contains the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, final

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import NotFoundError, RefusedError
from gantrymq.operator.kube.event_publisher import EventPublisher
from gantrymq.operator.kube.executor import Execution, Executor, title_of
from gantrymq.operator.kube.status_writer import StatusWriter
from gantrymq.operator.kube.watch.reflector import RandomSource
from gantrymq.operator.plan.actions import Json, Plan
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.shell.work.snapshot_reader import SnapshotReader
from gantrymq.operator.shell.work.work_queue import Key

CLUSTERS: Final = "clusters"
"""The kind of work, which is the first part of a key."""

RESYNC_SECONDS: Final = 60.0
# The next disruptive action for a group needs a new snapshot.
AGAIN_SECONDS: Final = 1.0

Planner: TypeAlias = Callable[[ClusterSnapshot, float], Plan]
"""Makes a plan from a snapshot and the time in Unix seconds."""


@final
class ClusterController:
    """Reconciles BrokerClusters by key. Between runs it keeps the last refusal of each."""

    def __init__(
        self,
        client: KubeClient,
        reader: SnapshotReader,
        planner: Planner,
        executor: Executor,
        status_writer: StatusWriter,
        publisher: EventPublisher,
        random: RandomSource,
        wall: Callable[[], float],
    ) -> None:
        self._client = client
        self._executor = executor
        self._planner = planner
        self._publisher = publisher
        self._random = random
        self._reader = reader
        self._refusals: dict[Key, str] = {}
        self._resources: dict[Key, Json] = {}
        """The resources as of their last read."""
        self._status_writer = status_writer
        self._wall = wall

    @property
    def resources(self) -> Mapping[Key, Json]:
        """The existing BrokerClusters as of their last read."""
        return self._resources

    async def reconcile(self, key: Key) -> float | None:
        """Carry out one plan for a cluster; return when to reconcile again."""
        _, namespace, name = key
        try:
            resource = await self._client.get(kinds.BROKER_CLUSTER.path(namespace, name))
        except NotFoundError:
            self._forget(key)
            return None
        earlier = self._resources.get(key)
        if earlier is not None and earlier["metadata"]["uid"] != resource["metadata"]["uid"]:
            self._forget(key)
        self._resources[key] = resource
        snapshot = await self._reader.read(resource, self._refusals.get(key, ""))
        plan = self._planner(snapshot, self._wall())
        for note in plan.events:
            self._publisher.publish(resource, note)
        execution = await self._executor.execute(plan.actions)
        if plan.status:
            await self._status_writer.write(resource, plan.status)
        return self._settle(key, plan, execution)

    def _settle(self, key: Key, plan: Plan, execution: Execution) -> float:
        """Return when to reconcile again. A refusal is remembered and raised, so that the key backs
        off."""
        if isinstance(execution.error, RefusedError) and execution.refused is not None:
            self._refusals[key] = f"{title_of(execution.refused)}: {execution.error.words}"
        elif execution.error is None and execution.done == len(plan.actions):
            self._refusals.pop(key, None)
        if execution.error is not None:
            raise execution.error
        if execution.done < len(plan.actions):
            return AGAIN_SECONDS
        resync = RESYNC_SECONDS * self._random.uniform(0.75, 1.25)
        return resync if plan.requeue_seconds is None else min(resync, plan.requeue_seconds)

    def _forget(self, key: Key) -> None:
        resource = self._resources.pop(key, None)
        self._refusals.pop(key, None)
        if resource is not None:
            self._status_writer.forget(resource["metadata"]["uid"])
