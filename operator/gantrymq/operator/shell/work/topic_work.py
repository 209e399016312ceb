"""Runs the topic controller for a cluster: finds its masters, and passes them on.

A paged reflector fills an index with reduced Topics, because 20 000 of them would need several
hundred MiB as JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, final

from gantrymq.operator.brokers.topic_controller import TopicController, TopicTarget
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient, Lane
from gantrymq.operator.kube.errors import NotFoundError, RefusedError
from gantrymq.operator.kube.topic_writes import TopicWrites
from gantrymq.operator.kube.watch.object_store import Name
from gantrymq.operator.kube.watch.reflector import RandomSource
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import is_terminating, text_at, value_at
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.resources.parsing import parse_cluster
from gantrymq.operator.resources.security import SecurityProfile
from gantrymq.operator.shell.security_reader import SecurityReader
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.shell.work.controller import RESYNC_SECONDS
from gantrymq.operator.shell.work.group_masters import GroupMasters
from gantrymq.operator.shell.work.run_pacing import RunPacing
from gantrymq.operator.shell.work.work_queue import Key
from gantrymq.operator.topics.index import TopicIndex
from gantrymq.operator.topics.values import ClusterStage, ClusterView

TOPICS: Final = "topics"
"""The kind of work, which is the first part of a key."""

UNSYNCED_SECONDS: Final = 2.0
"""When to run again while the pods have not been listed, as after a start."""

UNCONFIRMED_SECONDS: Final = 5.0
"""When to run again if a master's pod has another address, because no event reports its pod."""

OnTopics = Callable[[str, str], None]
"""Called with namespace and name of a cluster whose topics, or unmanaged topics, changed."""


@final
class TopicSink:
    """Puts the Topics of one namespace, or of all, into the index."""

    def __init__(self, index: TopicIndex, namespace: str, on_change: OnTopics) -> None:
        self._index = index
        self._namespace = namespace
        self._on_change = on_change

    def __len__(self) -> int:
        return sum(1 for _ in self.names())

    def put(self, item: Json) -> None:
        self._on_change(*self._index.put(item))

    def remove(self, name: Name) -> None:
        key = self._index.remove(*name)
        if key is not None:
            self._on_change(*key)

    def names(self) -> Iterator[Name]:
        for namespace, cluster in self._index.clusters():
            if self._namespace in ("", namespace):
                for topic in self._index.of(namespace, cluster):
                    yield namespace, topic.name


@final
class TopicWork:
    """Runs the topic controller for one key, and remembers unmanaged topics."""

    def __init__(
        self,
        client: KubeClient,
        caches: Caches,
        index: TopicIndex,
        wall: Callable[[], float],
        random: RandomSource,
        on_unmanaged: OnTopics,
    ) -> None:
        self._client = client
        self._controller = TopicController(TopicWrites(client), wall)
        self._index = index
        self._masters = GroupMasters(client, caches, wall)
        self._security = SecurityReader(client)
        self._on_unmanaged = on_unmanaged
        self._random = random
        self._unmanaged: dict[Name, tuple[str, ...]] = {}
        self._clock = asyncio.get_running_loop().time
        self._pacing = RunPacing()

    async def close(self) -> None:
        await self._controller.close()

    def unmanaged(self, namespace: str, cluster: str) -> tuple[str, ...] | None:
        """Return the topics that no resource named in the last run; None if unknown."""
        return self._unmanaged.get((namespace, cluster))

    async def run(self, key: Key) -> float | None:
        """Run the topic controller for one cluster; return when to run again."""
        _, namespace, name = key
        cluster = (namespace, name)
        await asyncio.sleep(
            self._pacing.pause(cluster, len(self._index.of(namespace, name)), self._clock())
        )
        again_after = await self._run(namespace, name)
        if again_after is None:
            self._pacing.forget(cluster)
        else:
            self._pacing.ended(cluster, self._clock())
        return again_after

    async def _run(self, namespace: str, name: str) -> float | None:
        topics = self._index.of(namespace, name)
        resource = await self._resource(namespace, name)
        if resource is None and not topics:
            self._unmanaged.pop((namespace, name), None)
            await self._controller.forget(namespace, name)
            return None
        target = await self._target(namespace, name, resource)
        report = await self._controller.run_cluster(target, topics)
        self._learn((namespace, name), report.unmanaged)
        resync = RESYNC_SECONDS * self._random.uniform(0.75, 1.25)
        asked = (report.requeue_seconds, self._retry_seconds(target.cluster))
        return min([resync, *(each for each in asked if each is not None)])

    def _retry_seconds(self, view: ClusterView) -> float | None:
        """Return when to look again for masters that were not found; None if all were."""
        if view.stage is not ClusterStage.PRESENT:
            return None
        if not self._masters.is_synced(view.namespace):
            return UNSYNCED_SECONDS
        return UNCONFIRMED_SECONDS if any(each.why for each in view.groups or ()) else None

    def _learn(self, cluster: Name, unmanaged: tuple[str, ...] | None) -> None:
        if unmanaged is not None and unmanaged != self._unmanaged.get(cluster):
            self._unmanaged[cluster] = unmanaged
            self._on_unmanaged(*cluster)

    # ------------------------------------------------------------------ the cluster

    async def _resource(self, namespace: str, name: str) -> Json | None:
        try:
            path = kinds.BROKER_CLUSTER.path(namespace, name)
            return await self._client.get(path, lane=Lane.BULK)
        except NotFoundError:
            return None

    async def _target(self, namespace: str, name: str, resource: Json | None) -> TopicTarget:
        is_ending = await self._namespace_is_terminating(namespace)
        names = ClusterNames(name, namespace)
        if resource is None:
            view = ClusterView(namespace, name, ClusterStage.MISSING, None, is_ending)
            return TopicTarget(view, _name_servers(names, 1))
        stage = ClusterStage.TERMINATING if is_terminating(resource) else ClusterStage.PRESENT
        spec = parse_cluster(resource).spec
        count = max(_groups_of(resource), spec.groups if spec else 0)
        groups = await self._masters.of(names, count)
        view = ClusterView(
            namespace, name, stage, groups, is_ending, is_paused=bool(spec and spec.paused)
        )
        servers = _name_servers(names, spec.name_servers if spec else 1)
        if spec is None or text_at(resource, "status", "securityProfile") != SecurityProfile.SECURE:
            return TopicTarget(view, servers)
        return TopicTarget(view, servers, await self._security.access(names, spec.security))

    async def _namespace_is_terminating(self, namespace: str) -> bool:
        try:
            found = await self._client.get(kinds.NAMESPACE.path("", namespace), lane=Lane.BULK)
        except NotFoundError:
            return True
        except RefusedError:
            return False  # not allowed to read it: the API will refuse writes if it is terminating
        return is_terminating(found)


def _groups_of(resource: Json) -> int:
    """Return the number of groups of the cluster, which may exceed its spec."""
    count = value_at(resource, "status", "groupCount")
    return count if isinstance(count, int) else 0


def _name_servers(names: ClusterNames, count: int) -> tuple[str, ...]:
    return tuple(names.name_server_addresses(count).split(";"))
