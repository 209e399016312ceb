"""Two commands to a cluster: install, apply ten lines, and a Java client has its first message."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.java_client import JavaLoad
from gantrymq.e2e.kubectl import Namespace, condition, tool, wait_until
from gantrymq.e2e.operator_install import NAMESPACE, RELEASE, Operator

ROOT = Path(__file__).resolve().parents[2]
TEN_LINES = ROOT / "examples" / "kubernetes" / "01-ten-lines.yaml"


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_ten_lines_become_a_cluster_that_serves_a_java_client(
    images: dict[str, str],
    java_image: str,
    namespace: Namespace,
    figures: Figures,
) -> None:
    del java_image
    operator = Operator(images)
    began = time.monotonic()
    operator.install()
    installed = time.monotonic() - began
    namespace.run("apply", "-f", str(TEN_LINES))
    [resource] = namespace.list("brokerclusters")
    cluster = BrokerCluster(namespace, resource["metadata"]["name"])
    cluster.wait_until_whole()
    ready = time.monotonic() - began
    namespace.apply(topic("First", cluster.name, topicName="First"))
    wait_for_topics(namespace, ["first"])
    load = JavaLoad(namespace)
    try:
        load.start(cluster.name_servers, "First", 50, 50)
        wait_until(lambda: load.size("java-push") > 0, "the first message is consumed", 60.0,
                   load.words)  # fmt: skip
        first = time.monotonic() - began
    finally:
        load.stop()
    figures.keep(
        f"helm install {installed:.1f} s, cluster whole {ready:.1f} s, first message consumed by a"
        f" Java client {first:.1f} s after nothing",
        installed=installed, ready=ready, first=first,
    )  # fmt: skip
    assert len(_lines(TEN_LINES)) <= 10


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_masters_are_spread_over_nodes_and_members_never_share_one(
    operator: Operator, namespace: Namespace
) -> None:
    """Three groups of two on three nodes: each node has one master, no group is on one node."""
    del operator
    cluster = BrokerCluster(namespace, "spread")
    cluster.apply(groups=3, membersPerGroup=2, storage={"size": "1Gi"})
    cluster.wait_until_whole()
    groups = ("broker-0", "broker-1", "broker-2")

    def masters() -> list[str]:
        found = []
        for group in groups:
            pod = cluster.pod(group, cluster.holder(group))
            found.append(pod["spec"]["nodeName"] if pod else "")
        return found

    wait_until(lambda: len(set(masters()) - {""}) == 3, "each node has one master", 60.0,
               cluster.describe)  # fmt: skip
    for group in groups:
        labels = {"app.kubernetes.io/instance": "spread", "gantrymq.dev/group": group}
        pods = namespace.list("pods", labels)
        nodes = {pod["spec"]["nodeName"] for pod in pods}
        assert len(nodes) == len(pods) == 2
    assert condition(cluster.resource(), "Spread").get("status") == "True"


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_helm_test_produces_and_consumes(operator: Operator) -> None:
    del operator
    words = ("--namespace", NAMESPACE, "--logs", "--timeout=180s")
    said = tool("helm", "test", RELEASE, *words, seconds=200)
    assert "Succeeded" in said
