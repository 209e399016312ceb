"""Failovers under load: unmodified Java clients in the cluster lose no acknowledged message.

GANTRY_E2E_REPEATS says how often pod deletion and switchover are repeated (3, the long run 20).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.java_client import JavaLoad
from gantrymq.e2e.kubectl import KubectlError, Namespace, tool, wait_until
from gantrymq.e2e.ledger import Effect, Strike, Told, audit, effect, table
from gantrymq.e2e.operator_install import Operator

ROOT = Path(__file__).resolve().parents[2]
REPEATS = int(os.environ.get("GANTRY_E2E_REPEATS", "3"))
TOPIC = "Failover"
QUEUES = 8
GROUP = "broker-0"
SYNC_RATE, ASYNC_RATE = 1300, 1300
AWAY_SECONDS = 60.0
SETTLE_SECONDS = 3.0

# Figures of the replication page, as a producer sees them; a shared machine may be slow once.
POD_GAP_MAX = 8.0
SWITCHOVER_GAP_MAX = 1.0
BROKEN_SECONDS = 60.0


class Scene:
    """One cluster under load, and the faults that struck it."""

    def __init__(self, cluster: BrokerCluster, load: JavaLoad) -> None:
        self.cluster = cluster
        self.load = load
        self.strikes: list[Strike] = []
        self.told = Told(QUEUES)

    def strike(self, kind: str, fault: Callable[[int], None], moves: bool = True) -> None:
        """Let one fault happen to the master, and wait until the cluster is whole again."""
        self.cluster.wait_until_whole()
        time.sleep(SETTLE_SECONDS)  # the load goes on before the fault as after it
        before = self.cluster.holder(GROUP)
        began = time.monotonic_ns()
        fault(before)
        if moves:
            self._wait_for_another(before)
        self.cluster.wait_until_whole()
        ended = time.monotonic_ns()
        moved = self.cluster.holder(GROUP) != before
        self.strikes.append(Strike(kind, began, ended, moved))

    def _wait_for_another(self, before: int) -> None:
        try:
            wait_until(lambda: self.cluster.holder(GROUP) not in (0, before), "another leads", 30.0)
        except AssertionError:
            return  # the same member may come back first; the table says so

    def effects(self) -> list[Effect]:
        return [effect(each, self.told) for each in self.strikes]


@pytest.fixture
def scene(operator: Operator, java_image: str, namespace: Namespace) -> Iterator[Scene]:
    del operator, java_image
    cluster = BrokerCluster(namespace, "orders")
    cluster.apply(groups=1, membersPerGroup=3, storage={"size": "1Gi"})
    cluster.wait_until_whole()
    namespace.apply(topic(TOPIC, "orders", topicName=TOPIC, writeQueues=QUEUES, readQueues=QUEUES))
    wait_for_topics(namespace, [TOPIC.lower()])
    load = JavaLoad(namespace)
    load.start(cluster.name_servers, TOPIC, SYNC_RATE, ASYNC_RATE)
    wait_until(lambda: load.size("java-push") > 24_000, "the load runs", 60.0, load.words)
    yield Scene(cluster, load)
    load.stop()


def _check(scene: Scene, figures: Figures) -> list[Effect]:
    """Stop the sends and audit every acknowledged message; the effects of all faults."""
    scene.cluster.wait_until_whole()
    scene.load.stop_sending()
    scene.told.take(scene.load)
    faults = audit(scene.told, scene.load, scene.cluster.master_address(GROUP), TOPIC)
    effects = scene.effects()
    count, other = scene.told.ledger.count, dict(scene.told.other)
    figures.keep(
        f"{count} acknowledged, other statuses {other}, faults {faults}\n{table(effects)}",
        acknowledged=count, other=other, faults=faults, effects=[asdict(e) for e in effects],
    )  # fmt: skip
    assert not faults
    assert scene.told.ledger.count > 0
    assert all(each.gap < BROKEN_SECONDS for each in effects)
    return effects


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_no_acknowledged_message_is_lost_by_kills_deletions_and_switchovers(
    scene: Scene, figures: Figures
) -> None:
    cluster = scene.cluster
    scene.strike("broker process killed", lambda m: cluster.kill_broker(cluster.pod_name(GROUP, m)))
    for number in range(REPEATS):
        by_force = bool(number % 2)
        kind = "pod deleted by force" if by_force else "pod deleted"
        scene.strike(kind, partial(_delete_pod, cluster, by_force=by_force))
    for _ in range(REPEATS):
        scene.strike("switchover", lambda _: _switch(cluster))
    effects = _check(scene, figures)
    moved = [each for each in effects if each.has_moved]
    assert len(moved) >= 0.9 * len(effects) or len(effects) - len(moved) <= 1


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_failover_needs_neither_operator_nor_api_server(
    operator: Operator, scene: Scene, figures: Figures
) -> None:
    cluster = scene.cluster
    operator.scale(0)
    try:
        began, before = time.monotonic_ns(), cluster.holder(GROUP)
        cluster.kill_broker(cluster.pod_name(GROUP, before))
        wait_until(lambda: cluster.holder(GROUP) not in (0, before), "another leads", 30.0)
        scene.strikes.append(
            Strike("killed, operator dead", began, time.monotonic_ns() + 10**9, has_moved=True)
        )
    finally:
        operator.scale(2)
    scene.strike("API server away 60 s", lambda _: _api_away(), moves=False)
    effects = _check(scene, figures)
    assert not effects[-1].has_moved, "an API server that is away moves no master"


def _delete_pod(cluster: BrokerCluster, member: int, *, by_force: bool) -> None:
    cluster.delete_pod(cluster.pod_name(GROUP, member), by_force=by_force)


def _switch(cluster: BrokerCluster) -> None:
    words = ("switchover", cluster.name, GROUP, "-n", cluster.namespace.name)
    tool(str(Path(sys.executable).parent / "kubectl-gantry"), *words)


def _api_away() -> None:
    control = [sys.executable, "-m", "cluster", "api"]
    subprocess.run([*control, "stop"], cwd=ROOT, check=True)
    try:
        time.sleep(AWAY_SECONDS)
    finally:
        subprocess.run([*control, "start"], cwd=ROOT, check=True)
    wait_until(_answers, "the API server answers", 60.0)


def _answers() -> bool:
    try:
        tool("kubectl", "get", "--raw", "/readyz", seconds=5.0)
    except KubectlError:
        return False
    return True
