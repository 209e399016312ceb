"""Tests that a snapshot has all parts, and None for parts that cannot be read."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.operating import DEFAULTS, PACE, add_cluster, is_quiet, operating
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.brokers.access import BrokerAccess
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.plan.snapshot import ClusterSnapshot, MemberReport
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.shell.work.snapshot_reader import SnapshotReader

Json = dict[str, Any]


class Replication:
    """A master that reports what it is asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while the master answers."""

    async def ask(
        self,
        address: str,
        master: int,
        members_by_host: Mapping[str, int],
        access: BrokerAccess | None = None,
    ) -> tuple[MemberReport, ...] | None:
        assert access is None
        self.asked.append(address)
        self.meanwhile()
        return tuple(
            MemberReport(member, member == master, 7) for member in set(members_by_host.values())
        )


class Brokers:
    """Brokers that say why they are not ready, by the address of the pod."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, ip: str) -> str:
        self.asked.append(ip)
        return f"it catches up at {ip}"


class Secrets:
    """Brokers that say which secrets they have, but for one."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, ip: str) -> tuple[str, ...] | None:
        self.asked.append(ip)
        return None if ip == "127.0.0.2" else ("f" * 16,)


@pytest.fixture
async def client(server: KubeServer) -> AsyncIterator[KubeClient]:
    client = KubeClient(ApiConfig(server.url))
    yield client
    await client.close()


@pytest.fixture
async def made(server: KubeServer, life: Life) -> None:
    """A cluster of two groups that is complete."""
    add_cluster(server, groups=2)
    async with operating(server):
        await until(lambda: is_quiet(server))
    del life


def reader(
    client: KubeClient,
    caches: Caches,
    replication: Replication | None = None,
    brokers: Brokers | None = None,
    secrets: Secrets | None = None,
) -> SnapshotReader:
    asks, answers, known = replication or Replication(), brokers or Brokers(), secrets or Secrets()
    return SnapshotReader(client, caches, DEFAULTS, asks, answers, known, lambda *_: ("by-hand",))


async def read(
    server: KubeServer,
    client: KubeClient,
    *,
    waits_for_nodes: bool = True,
    replication: Replication | None = None,
    brokers: Brokers | None = None,
    secrets: Secrets | None = None,
) -> ClusterSnapshot:
    caches = Caches(client, (), random.Random(1), PACE)
    tasks = [asyncio.create_task(each.run()) for each in caches.reflectors]
    await until(
        lambda: (
            caches.is_synced
            and caches.slices.is_synced
            and (caches.nodes.is_synced or not waits_for_nodes)
        )
    )
    resource = server.get("BrokerCluster", "one", "orders")
    assert resource is not None
    reads = reader(client, caches, replication, brokers, secrets)
    snapshot = await reads.read(resource, "refused once")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return snapshot


@pytest.mark.usefixtures("made")
async def test_everything_of_a_cluster_is_read(server: KubeServer, client: KubeClient) -> None:
    snapshot = await read(server, client)

    assert snapshot.objects is not None
    assert {kind: len(found) for kind, found in snapshot.objects.items()} == {
        "StatefulSet": 3,
        "Service": 6,
        "ConfigMap": 3,
        "PodDisruptionBudget": 3,
        "Secret": 1,
        "ServiceAccount": 1,
        "Role": 1,
        "RoleBinding": 1,
    }
    assert "data" not in snapshot.objects["Secret"][0]
    assert len(snapshot.pods or ()) == 6
    assert len(snapshot.volume_claims or ()) == 4
    assert set(snapshot.leases or ()) == set(snapshot.slices or ()) == {"broker-0", "broker-1"}
    assert set(snapshot.nodes or ()) == {"node-1", "node-2", "node-3"}
    assert snapshot.storage_classes == frozenset({"standard"})
    assert snapshot.reports["broker-0"][1].lag_bytes == 7
    assert snapshot.unmanaged_topics == ("by-hand",)
    assert snapshot.refusal == "refused once"
    assert len(snapshot.new_secret) == 64
    assert not snapshot.namespace_is_terminating


@pytest.mark.usefixtures("made")
async def test_a_lease_that_cannot_be_read_is_missing_not_absent(
    server: KubeServer, client: KubeClient
) -> None:
    server.delete("Lease", "one", "orders-broker-1")
    server.faults.refusals["GET leases/orders-broker-0"] = (403, "forbidden")

    snapshot = await read(server, client)

    assert snapshot.leases == {"broker-1": None}


@pytest.mark.usefixtures("made")
async def test_nodes_that_may_not_be_listed_are_not_known(
    server: KubeServer, client: KubeClient
) -> None:
    server.faults.list_refusals["nodes"] = (403, "forbidden")

    snapshot = await read(server, client, waits_for_nodes=False)

    assert snapshot.nodes is None
    assert snapshot.objects is not None


@pytest.mark.usefixtures("made")
async def test_before_the_lists_are_complete_nothing_is_known(
    server: KubeServer, client: KubeClient
) -> None:
    resource = server.get("BrokerCluster", "one", "orders")
    assert resource is not None

    snapshot = await reader(client, Caches(client, (), random.Random(1), PACE)).read(resource)

    assert snapshot.objects is None
    assert snapshot.pods is None
    assert snapshot.volume_claims is None
    assert snapshot.nodes is None
    assert snapshot.slices is None


@pytest.mark.usefixtures("made")
async def test_the_newest_warning_of_a_stuck_pod_is_read(
    server: KubeServer, client: KubeClient
) -> None:
    pod = server.get("Pod", "one", "orders-broker-0-1")
    assert pod is not None
    waiting = pod["status"] | {"conditions": [{"type": "Ready", "status": "False"}]}
    server.set_status("Pod", "one", "orders-broker-0-1", waiting)
    for number, kind, reason in (
        (1, "Warning", "Old"),
        (2, "Warning", "Failed"),
        (3, "Normal", "x"),
    ):
        server.put(
            "Event",
            {
                "metadata": {"namespace": "one", "name": f"e{number}"},
                "type": kind,
                "reason": reason,
                "message": "no such image",
                "lastTimestamp": f"2026-01-01T00:00:0{number}Z",
                "involvedObject": {"name": "orders-broker-0-1"},
            },
        )

    snapshot = await read(server, client)

    assert snapshot.events == {"orders-broker-0-1": "Failed: no such image"}


@pytest.mark.usefixtures("made")
async def test_brokers_that_are_not_ready_are_asked_why(
    server: KubeServer, client: KubeClient
) -> None:
    for name, ip in (("orders-broker-1-0", "127.0.0.7"), ("orders-namesrv-0", "127.0.0.8")):
        pod = server.get("Pod", "one", name)
        assert pod is not None
        unready = {"conditions": [{"type": "Ready", "status": "False"}], "podIP": ip}
        server.set_status("Pod", "one", name, pod["status"] | unready)
    brokers = Brokers()

    snapshot = await read(server, client, brokers=brokers)

    assert brokers.asked == ["127.0.0.7"]
    assert snapshot.unready == {"orders-broker-1-0": "it catches up at 127.0.0.7"}


@pytest.mark.usefixtures("made")
async def test_brokers_are_asked_for_their_secrets_while_these_are_changed_alone(
    server: KubeServer, client: KubeClient
) -> None:
    secrets = Secrets()
    assert (await read(server, client, secrets=secrets)).known_secrets is None
    assert secrets.asked == []
    resource = server.get("BrokerCluster", "one", "orders")
    assert resource is not None
    notes = {"annotations": {"gantrymq.dev/rotate-secret": "monday"}}
    server.put("BrokerCluster", {**resource, "metadata": {**resource["metadata"], **notes}})

    snapshot = await read(server, client, secrets=secrets)

    # Both groups have pods of these addresses; name servers have no secret.
    assert sorted(secrets.asked) == ["127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2"]
    assert snapshot.known_secrets == {
        "orders-broker-0-0": ("f" * 16,),
        "orders-broker-1-0": ("f" * 16,),
    }


@pytest.mark.usefixtures("made")
async def test_a_namespace_that_is_deleted_is_reported(
    server: KubeServer, client: KubeClient
) -> None:
    namespace: Json = {"metadata": {"name": "one", "finalizers": ["kubernetes"]}}
    server.put("Namespace", namespace)
    server.delete("Namespace", "", "one")

    assert (await read(server, client)).namespace_is_terminating


@pytest.mark.usefixtures("made")
async def test_leases_are_those_of_after_the_masters_answered(
    server: KubeServer, client: KubeClient, life: Life
) -> None:
    replication = Replication()

    def fail_over() -> None:
        replication.meanwhile = lambda: None
        life.fail_over("one", "orders-broker-0", member=2)

    replication.meanwhile = fail_over

    snapshot = await read(server, client, replication=replication)

    lease = (snapshot.leases or {})["broker-0"]
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "2"
    # What the former master said is about another time.
    assert set(snapshot.reports) == {"broker-1"}


@pytest.mark.usefixtures("made")
async def test_an_address_that_is_not_that_of_the_masters_pod_is_not_used(
    server: KubeServer, client: KubeClient
) -> None:
    lease = server.get("Lease", "one", "orders-broker-0")
    assert lease is not None
    annotations = lease["metadata"]["annotations"] | {"gantrymq.dev/address": "169.254.169.254:80"}
    metadata = {"namespace": "one", "name": "orders-broker-0", "annotations": annotations}
    server.put("Lease", {"metadata": metadata})
    replication = Replication()

    snapshot = await read(server, client, replication=replication)

    assert replication.asked == ["127.0.0.1:1"]
    assert set(snapshot.reports) == {"broker-1"}
