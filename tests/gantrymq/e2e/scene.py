"""Runs one cluster under the load of Java's clients, applies faults to it, and audits them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final, final

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.java_client import JavaLoad
from gantrymq.e2e.kubectl import KubectlError, Namespace, tool, wait_until
from gantrymq.e2e.ledger import ClientResults, Effect, Strike, audit, effect, table

ROOT: Final = Path(__file__).resolve().parents[3]
TOPIC: Final = "Failover"
QUEUES: Final = 8
GROUP: Final = "broker-0"
SYNC_RATE: Final = 1300
ASYNC_RATE: Final = 1300
SETTLE_SECONDS: Final = 3.0

# A send gap that no fault explains: the cluster was broken, not slow.
BROKEN_SECONDS: Final = 60.0


@final
class Scene:
    """One cluster under load, and the faults that struck it."""

    def __init__(self, cluster: BrokerCluster, load: JavaLoad) -> None:
        self.cluster = cluster
        self.load = load
        self.strikes: list[Strike] = []
        self.results = ClientResults(QUEUES)

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
        return [effect(each, self.results) for each in self.strikes]


@contextmanager
def under_load(namespace: Namespace) -> Iterator[Scene]:
    """A cluster of one group with three members, producers and a push consumer at work."""
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


def check(scene: Scene, figures: Figures) -> list[Effect]:
    """Stop the sends and audit every acknowledged message; the effects of all faults."""
    scene.cluster.wait_until_whole()
    scene.load.stop_sending()
    scene.results.take(scene.load)
    faults = audit(scene.results, scene.load, scene.cluster.master_address(GROUP), TOPIC)
    effects = scene.effects()
    count, other = scene.results.ledger.count, dict(scene.results.other)
    figures.keep(
        f"{count} acknowledged, other statuses {other}, faults {faults}\n{table(effects)}",
        acknowledged=count, other=other, faults=faults, effects=[asdict(e) for e in effects],
    )  # fmt: skip
    assert not faults
    assert scene.results.ledger.count > 0
    assert all(each.gap < BROKEN_SECONDS for each in effects)
    return effects


def switch(cluster: BrokerCluster) -> None:
    """A switchover, as an operator asks for it."""
    words = ("switchover", cluster.name, GROUP, "-n", cluster.namespace.name)
    tool(str(Path(sys.executable).parent / "kubectl-gantry"), *words)


def control(*words: str) -> None:
    """Have the local cluster's own tool strike a node or the API server."""
    subprocess.run([sys.executable, "-m", "cluster", *words], cwd=ROOT, check=True)


def api_answers() -> bool:
    """Whether the API server can be reached."""
    try:
        tool("kubectl", "get", "--raw", "/readyz", seconds=5.0)
    except KubectlError:
        return False
    return True
