"""Tests topics with the whole operator, a simulated API server and a real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.fakes.topics.topic_cluster import NAMESPACE, TopicCluster, topic_cluster
from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.operating import add_cluster, is_quiet, operating, status
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.shell.work.group_masters import UNCONFIRMED
from gantrymq.operator.shell.work.topic_work import TOPICS


@pytest.fixture
async def broker(tmp_path: Path, life: Life) -> AsyncIterator[TopicCluster]:
    """The master of the only group of the cluster `orders`."""
    async with topic_cluster(tmp_path, groups=1) as running:
        life.broker_addresses[NAMESPACE] = running.address("broker-0")
        yield running


def put_topic(server: KubeServer, name: str, **spec: Any) -> None:
    metadata = {"namespace": NAMESPACE, "name": name}
    server.put("Topic", {"metadata": metadata, "spec": {"cluster": "orders", **spec}})


def phase(server: KubeServer, name: str) -> str:
    found = server.get("Topic", NAMESPACE, name)
    return "" if found is None else str((found.get("status") or {}).get("phase", ""))


async def test_topics_become_ready_with_one_write_each_and_stay_quiet(
    server: KubeServer, broker: TopicCluster
) -> None:
    names = [f"t{number}" for number in range(300)]
    add_cluster(server, NAMESPACE)
    async with operating(server) as operator:
        await until(lambda: is_quiet(server, NAMESPACE))
        for name in names:
            put_topic(server, name, writeQueues=2)
        await until(lambda: all(phase(server, name) == "Ready" for name in names))

        writes = [each for each in server.calls.writes if "topics/status" in each]
        assert sorted(writes) == sorted(f"PATCH topics/status/{NAMESPACE}/{n}" for n in names)

        server.calls.clear()
        before = operator.work.counters.outcomes[(TOPICS, "done")]
        operator.resource_changed(NAMESPACE, "orders")
        await until(lambda: operator.work.counters.outcomes[(TOPICS, "done")] > before)
        assert server.calls.writes == []
    del broker


async def test_a_topic_made_by_hand_is_shown_in_the_status_of_the_cluster(
    server: KubeServer, broker: TopicCluster
) -> None:
    async with Admin(name_servers=broker.name_server) as admin:
        await admin.create_topic("by-hand", queues=4, cluster="orders")
    add_cluster(server, NAMESPACE)

    async with operating(server):
        await until(
            lambda: (
                status(server, NAMESPACE).get("unmanagedTopics")
                == {"count": 1, "names": ["by-hand"]}
            )
        )


async def test_a_topic_of_a_missing_cluster_says_so_until_there_is_one(
    server: KubeServer, broker: TopicCluster
) -> None:
    put_topic(server, "early")
    async with operating(server) as operator:
        await until(lambda: phase(server, "early"))
        assert phase(server, "early") != "Ready"

        add_cluster(server, NAMESPACE)
        operator.resource_changed(NAMESPACE, "orders")

        await until(lambda: phase(server, "early") == "Ready")
    del broker


def move_pod(server: KubeServer, ip: str) -> None:
    """Give the master's pod another IP."""
    pod = server.get("Pod", NAMESPACE, "orders-broker-0-0")
    assert pod is not None
    server.set_status("Pod", NAMESPACE, "orders-broker-0-0", pod["status"] | {"podIP": ip})


async def test_no_broker_is_asked_at_an_address_that_the_masters_pod_has_not(
    server: KubeServer, broker: TopicCluster
) -> None:
    add_cluster(server, NAMESPACE)
    put_topic(server, "before")
    async with operating(server), Admin(name_servers=broker.name_server) as admin:
        address = broker.address("broker-0")
        await until(lambda: phase(server, "before") == "Ready")
        move_pod(server, "127.0.0.9")
        await until(lambda: is_quiet(server, NAMESPACE))

        put_topic(server, "after")

        await until(lambda: phase(server, "after") == "Waiting")
        message = (server.get("Topic", NAMESPACE, "after") or {})["status"]["message"]
        assert UNCONFIRMED in message
        assert phase(server, "before") == "Ready"
        assert "after" not in await admin.topics.configs(address)

        move_pod(server, "127.0.0.1")
        await until(lambda: phase(server, "after") == "Ready")
        assert "after" in await admin.topics.configs(address)
