"""Tests a replica group on Kubernetes under faults of nodes, API server and objects.

Nodes are cut off or powered off, the API server is slow, people edit the Lease and the
EndpointSlice, and a volume of an older cluster appears.

All under the load of Java's clients, and in the long run alone (GANTRY_E2E_LONG=1).
"""

from __future__ import annotations

import copy
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Json, KubectlError, Namespace, run, wait_until
from gantrymq.e2e.operator_install import Operator
from gantrymq.e2e.scene import GROUP, Scene, check, control, switch, under_load

IS_LONG: Final = os.environ.get("GANTRY_E2E_LONG") == "1"
LATENCY_MS: Final = 1000
SLICE_SECONDS: Final = 10.0
"""The test asks only now and then; the holder's own bound is 2.5 s."""
PREFIX: Final = "gantrymq.dev/"
AWAY_SECONDS: Final = 20.0
"""How long a node stays away after another member leads: a gap that only its return ends shows."""
NODE_FAULTS: Final = (
    ("node cut off", "cut", "mend"),
    ("node powered off", "off", "on"),
    ("node frozen", "freeze", "thaw"),
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not IS_LONG, reason="minutes of faults: GANTRY_E2E_LONG=1"),
]


@pytest.fixture
def scene(operator: Operator, java_image: str, namespace: Namespace) -> Iterator[Scene]:
    del operator, java_image
    with under_load(namespace) as made:
        yield made


@pytest.mark.timeout(900)
def test_a_lease_that_users_edit_restore_and_delete(scene: Scene, figures: Figures) -> None:
    cluster = scene.cluster
    cluster.allow_lease_edits()
    saved = _lease(cluster)
    scene.strike("switchover before", lambda _: switch(cluster))
    scene.strike("Lease restored", lambda _: _restore(cluster, saved), moves=False)
    scene.strike("Lease edited", lambda _: _edit(cluster), moves=False)
    scene.strike("Lease deleted", lambda _: _delete_lease(cluster), moves=False)
    with _touched(cluster):
        scene.strike("killed, Lease touched", lambda m: _kill(cluster, m))
    effects = {each.kind: each for each in check(scene, figures)}
    assert effects["killed, Lease touched"].has_moved
    for kind in ("Lease restored", "Lease edited", "Lease deleted"):
        assert not effects[kind].has_moved, f"{kind}: a master at work writes it anew"


@pytest.mark.timeout(900)
def test_a_slow_api_server_and_a_deleted_endpoint_slice(scene: Scene, figures: Figures) -> None:
    cluster = scene.cluster
    scene.strike("EndpointSlice deleted", lambda _: _delete_slice(cluster), moves=False)
    control("api", "slow", str(LATENCY_MS))
    try:
        scene.strike("killed, API slow", lambda m: _kill(cluster, m))
    finally:
        control("api", "fast")
    effects = {each.kind: each for each in check(scene, figures)}
    assert effects["killed, API slow"].has_moved


@pytest.mark.timeout(900)
def test_a_volume_of_an_older_cluster_in_a_new_pod(scene: Scene, figures: Figures) -> None:
    """The group goes on without that member, whose pod says why; archived, it follows again."""
    cluster = scene.cluster
    older = _OlderCluster(cluster)
    older.make()
    scene.strike("switchover before", lambda _: switch(cluster))
    member = next(each for each in (1, 2, 3) if each != cluster.holder(GROUP))
    before = cluster.holder(GROUP)
    older.mount(member)
    pod = cluster.pod_name(GROUP, member)
    wait_until(lambda: "gantry store" in _log(cluster, pod), "the member says it", 120.0,
               lambda: _log(cluster, pod))  # fmt: skip
    assert cluster.holder(GROUP) == before
    cluster.namespace.run("exec", pod, "--", "gantry", "store", "archive", "/data/store")
    cluster.wait_until_whole(180.0)
    check(scene, figures)


@pytest.mark.timeout(1200)
def test_nodes_that_are_cut_off_or_powered_off(scene: Scene, figures: Figures) -> None:
    cluster = scene.cluster
    for kind, goes, comes in NODE_FAULTS:
        _lead_away_from_the_clients(scene)
        scene.strike(kind, partial(_away, cluster, goes=goes, comes=comes))
    effects = check(scene, figures)
    assert all(each.has_moved for each in effects)


# ---------------------------------------------------------------------- the Lease


def _lease(cluster: BrokerCluster) -> Json:
    lease = cluster.lease(GROUP)
    assert lease is not None
    return lease


def _restore(cluster: BrokerCluster, saved: Json) -> None:
    """As `kubectl replace` of a file that was saved earlier does."""
    content = copy.deepcopy(saved)
    for field in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
        content["metadata"].pop(field, None)
    cluster.namespace.run("replace", "-f", "-", given=json.dumps(content))
    _wait_until_believed(cluster, saved["metadata"]["annotations"][f"{PREFIX}renewals"])


def _edit(cluster: BrokerCluster) -> None:
    """Changes the in-sync set and the epoch (nine digits), and adds requests with typos."""
    annotations = {
        f"{PREFIX}in-sync": "1",
        f"{PREFIX}epoch": "999999999",
        f"{PREFIX}preferred": "broker-2",
        f"{PREFIX}fenced": "one",
    }
    before = _lease(cluster)["metadata"]["annotations"]
    name = _lease(cluster)["metadata"]["name"]
    cluster.namespace.patch("lease", name, {"metadata": {"annotations": annotations}})

    def is_mended() -> bool:
        found = _lease(cluster)["metadata"]["annotations"]
        return bool(found[f"{PREFIX}epoch"] == before[f"{PREFIX}epoch"])

    wait_until(is_mended, "the master writes the Lease anew", 30.0)
    requests: Json = {f"{PREFIX}preferred": None, f"{PREFIX}fenced": None}
    cluster.namespace.patch("lease", name, {"metadata": {"annotations": requests}})


def _delete_lease(cluster: BrokerCluster) -> None:
    before = _lease(cluster)
    cluster.namespace.run("delete", "lease", before["metadata"]["name"])

    def is_back() -> bool:
        found = cluster.lease(GROUP)
        return found is not None and found["spec"] == found["spec"] | {
            "holderIdentity": before["spec"]["holderIdentity"]
        }

    wait_until(is_back, "the master makes the Lease anew", 30.0)


def _wait_until_believed(cluster: BrokerCluster, saved_renewals: str) -> None:
    def is_newer() -> bool:
        found = _lease(cluster)["metadata"]["annotations"]
        return int(found[f"{PREFIX}renewals"]) > int(saved_renewals) + 1

    wait_until(is_newer, "the master writes the Lease anew", 30.0)


@contextmanager
def _touched(cluster: BrokerCluster) -> Iterator[None]:
    """Changes the Lease's metadata every second in the meantime."""
    name = _lease(cluster)["metadata"]["name"]
    is_over = threading.Event()

    def touch() -> None:
        count = 0
        while not is_over.wait(1.0):
            count += 1
            label = {"metadata": {"labels": {"example.com/touched": str(count)}}}
            with suppress(KubectlError):
                cluster.namespace.patch("lease", name, label)

    thread = threading.Thread(target=touch)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


# ---------------------------------------------------------------------- processes, nodes, slices


def _kill(cluster: BrokerCluster, member: int) -> None:
    cluster.kill_broker(cluster.pod_name(GROUP, member))


def _lead_away_from_the_clients(scene: Scene) -> None:
    """Moves the master off the clients' node, whose loss would cut the clients off as well."""
    cluster = scene.cluster
    while _master_node(cluster) == scene.load.node():
        cluster.wait_until_whole()
        switch(cluster)
        wait_until(lambda: cluster.holder(GROUP) != 0, "a member leads", 30.0)


def _master_node(cluster: BrokerCluster) -> str:
    pod = cluster.pod(GROUP, cluster.holder(GROUP))
    assert pod is not None
    return str(pod["spec"]["nodeName"])


def _away(cluster: BrokerCluster, member: int, goes: str, comes: str) -> None:
    """The master's node is away until another member leads, and comes back later."""
    node = _master_node(cluster)[-1]
    control("node", goes, node)
    try:
        wait_until(lambda: cluster.holder(GROUP) not in (0, member), "another leads", 60.0)
        time.sleep(AWAY_SECONDS)
    finally:
        control("node", comes, node)


def _delete_slice(cluster: BrokerCluster) -> None:
    labels = {"kubernetes.io/service-name": f"{cluster.name}-{GROUP}"}

    def names() -> list[str]:
        return [e["metadata"]["uid"] for e in cluster.namespace.list("endpointslices", labels)]

    before = names()
    assert before
    chosen = ",".join(f"{key}={value}" for key, value in labels.items())
    cluster.namespace.run("delete", "endpointslices", "-l", chosen)
    wait_until(lambda: bool(set(names()) - set(before)), "the slice is back", SLICE_SECONDS)


def _log(cluster: BrokerCluster, pod: str) -> str:
    with suppress(KubectlError):
        return cluster.namespace.run("logs", pod, "--tail=200")
    return ""


# ---------------------------------------------------------------------- an older cluster


class _OlderCluster:
    """Which was deleted, and whose volumes are still there, with higher epochs."""

    def __init__(self, successor: BrokerCluster) -> None:
        self.namespace = successor.namespace
        self.cluster = BrokerCluster(self.namespace, "older")
        self.successor = successor
        self.volumes: dict[str, str] = {}
        """By node, the volume that is on it."""

    def make(self) -> None:
        self.cluster.apply(groups=1, membersPerGroup=3, storage={"size": "1Gi"})
        self.cluster.wait_until_whole()
        for _ in range(4):
            switch(self.cluster)
            self.cluster.wait_until_whole()
        claims: list[str] = []
        for member in (1, 2, 3):
            pod = self.cluster.pod(GROUP, member)
            claim = self.namespace.get("pvc", _claim(self.cluster, member))
            assert pod is not None
            assert claim is not None
            self.volumes[str(pod["spec"]["nodeName"])] = str(claim["spec"]["volumeName"])
            claims.append(str(claim["metadata"]["name"]))
        for volume in self.volumes.values():
            policy = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
            run("patch", "pv", volume, "--type=merge", "-p", json.dumps(policy))
        self.namespace.run("delete", "brokercluster", "older", "--timeout=120s", seconds=130)
        self.namespace.run("delete", "pvc", *claims, "--ignore-not-found")

    def mount(self, member: int) -> None:
        """The new cluster's member starts anew with the older cluster's volume of its node."""
        pod_name, claim = self.successor.pod_name(GROUP, member), _claim(self.successor, member)
        pod = self.successor.pod(GROUP, member)
        assert pod is not None
        volume = self.volumes[str(pod["spec"]["nodeName"])]
        reference = {"namespace": self.namespace.name, "name": claim}
        for each in ({"spec": {"claimRef": None}}, {"spec": {"claimRef": reference}}):
            run("patch", "pv", volume, "--type=merge", "-p", json.dumps(each))
        self.namespace.run("delete", "pvc", claim, "--wait=false")
        self.successor.delete_pod(pod_name, by_force=True)

        def is_mounted() -> bool:
            found = self.namespace.get("pvc", claim)
            return found is not None and found["spec"].get("volumeName") == volume

        wait_until(is_mounted, "the older volume is bound", 120.0, self.successor.describe)


def _claim(cluster: BrokerCluster, member: int) -> str:
    pod = cluster.pod(GROUP, member)
    assert pod is not None
    volumes = (each.get("persistentVolumeClaim") for each in pod["spec"]["volumes"])
    return next(str(each["claimName"]) for each in volumes if each)
