"""Runs a name server and several masters on loopback, and an API that keeps Topics in memory.

async with topic_cluster(tmp_path, groups=2) as running:
    running.target("orders")        the cluster as a TopicController sees it
    api = MemoryTopicApi(); api.create("orders", writeQueues=8)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from gantrymq.broker.configuration import load as load_broker
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.servers import BROKER_FLAGS, NAMESRV_FLAGS, _free_port
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.operator.brokers.topic_controller import TopicTarget
from gantrymq.operator.topics.api import TopicApiError, TopicChangedError, TopicGoneError
from gantrymq.operator.topics.index import TopicIndex
from gantrymq.operator.topics.statuses import to_json
from gantrymq.operator.topics.values import (
    ClusterStage,
    ClusterView,
    GroupView,
    TopicResource,
    TopicStatus,
)

NAMESPACE = "shop"


@dataclass(frozen=True)
class TopicCluster:
    name_server: str
    brokers: Mapping[str, BrokerHost]

    def address(self, group: str) -> str:
        host, port = self.brokers[group].addresses["internal"]
        return f"{host}:{port}"

    def target(
        self,
        cluster: str = "orders",
        *,
        groups: int | None = None,
        away: tuple[str, ...] = (),
        stage: ClusterStage = ClusterStage.PRESENT,
        is_paused: bool = False,
    ) -> TopicTarget:
        names = list(self.brokers)[:groups]
        views = (
            GroupView(name, "" if name in away else self.address(name), why="has no master")
            for name in names
        )
        view = ClusterView(NAMESPACE, cluster, stage, tuple(views), is_paused=is_paused)
        return TopicTarget(view, (self.name_server,))


@asynccontextmanager
async def topic_cluster(
    folder: Path, *, groups: int = 2, **flags: str
) -> AsyncIterator[TopicCluster]:
    """Brokers `broker-0`, `broker-1`, ... of the cluster `orders`; topics are not created
    automatically. `flags` are the brokers'."""
    async with AsyncExitStack() as stack:
        names = NameServerHost(load_namesrv(None, {}, NAMESRV_FLAGS, folder / "namesrv"))
        await names.start()
        stack.push_async_callback(names.stop)
        address, number = names.addresses["internal"]
        name_server = f"{address}:{number}"
        brokers: dict[str, BrokerHost] = {}
        for index in range(groups):
            name = f"broker-{index}"
            chosen = {
                **BROKER_FLAGS,
                "listenPort": str(_free_port()),
                "namesrvAddr": name_server,
                "brokerName": name,
                "brokerClusterName": "orders",
                "autoCreateTopicEnable": "false",
                **flags,
            }
            broker = BrokerHost(load_broker(None, {}, chosen, folder / name))
            await broker.start()
            stack.push_async_callback(broker.stop)
            brokers[name] = broker
        yield TopicCluster(name_server, brokers)


@final
class MemoryTopicApi:
    """Topics as an API server keeps them: versions, generations, finalizers, deletion in steps."""

    def __init__(self) -> None:
        self.bodies: dict[str, dict[str, Any]] = {}
        self.index = TopicIndex()
        self.writes: Counter[str] = Counter()
        self.is_down = False
        self._version = 0

    # ------------------------------------------------------------------ a user

    def create(self, name: str, *, cluster: str = "orders", **spec: object) -> None:
        metadata = {
            "namespace": NAMESPACE,
            "name": name,
            "uid": f"uid-{name}-{self._version}",
            "generation": 1,
            "creationTimestamp": f"2026-01-01T00:00:{min(59, self._version):02d}Z",
        }
        self.bodies[name] = {"metadata": metadata, "spec": {"cluster": cluster, **spec}}
        self._stored(name)

    def edit(self, name: str, **spec: object) -> None:
        body = self.bodies[name]
        body["spec"] = {**body["spec"], **spec}
        body["metadata"]["generation"] += 1
        self._stored(name)

    def delete(self, name: str) -> None:
        if not self.bodies[name]["metadata"].get("finalizers"):
            self._gone(name)
            return
        self.bodies[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:01:00Z"
        self._stored(name)

    def topics(self, cluster: str = "orders") -> tuple[TopicResource, ...]:
        return self.index.of(NAMESPACE, cluster)

    def status(self, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self.bodies[name].get("status", {})
        return status

    def ready(self, name: str) -> tuple[str, str]:
        """The status and the reason of Ready."""
        ready = next(each for each in self.status(name)["conditions"] if each["type"] == "Ready")
        return ready["status"], ready["reason"]

    # ------------------------------------------------------------------ the controller

    async def write_status(self, topic: TopicResource, status: TopicStatus) -> str:
        body = self._current(topic)
        self.writes["status"] += 1
        body["status"] = to_json(status)
        return self._stored(topic.name)

    async def set_finalizers(self, topic: TopicResource, finalizers: tuple[str, ...]) -> str:
        body = self._current(topic)
        self.writes["finalizers"] += 1
        if body["metadata"]["resourceVersion"] != topic.resource_version:
            raise TopicChangedError(topic.name)
        body["metadata"]["finalizers"] = list(finalizers)
        if not finalizers and "deletionTimestamp" in body["metadata"]:
            self._gone(topic.name)
            return topic.resource_version
        return self._stored(topic.name)

    def _current(self, topic: TopicResource) -> dict[str, Any]:
        if self.is_down:
            raise TopicApiError("the API is down")
        body = self.bodies.get(topic.name)
        if body is None or body["metadata"]["uid"] != topic.uid:
            raise TopicGoneError(topic.name)
        return body

    def _stored(self, name: str) -> str:
        self._version += 1
        version = str(self._version)
        self.bodies[name]["metadata"]["resourceVersion"] = version
        self.index.put(self.bodies[name])
        return version

    def _gone(self, name: str) -> None:
        del self.bodies[name]
        self.index.remove(NAMESPACE, name)
