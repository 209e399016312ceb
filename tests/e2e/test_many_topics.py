"""Thousands of Topics: how fast they become Ready, and that an unchanged one costs no write.

GANTRY_E2E_TOPICS says how many (2 000; the long run 10 000).
"""

from __future__ import annotations

import os
import time

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Namespace, is_true
from gantrymq.e2e.operator_install import Operator
from gantrymq.e2e.operator_metrics import OperatorFigures
from gantrymq.e2e.scene import check, under_load
from gantrymq.e2e.topic_load import load_topics

IS_LONG = os.environ.get("GANTRY_E2E_LONG") == "1"
TOPICS = int(os.environ.get("GANTRY_E2E_TOPICS", "2000"))
READY_SECONDS = 600.0
IDLE_SECONDS = 75.0
"""Longer than the operator's safety interval."""
MEMORY_MIB_MAX = 160


@pytest.mark.e2e
@pytest.mark.timeout(1200)
def test_many_topics_become_ready_and_idle_ones_cost_no_write(
    operator: Operator, namespace: Namespace, figures: Figures
) -> None:
    cluster = BrokerCluster(namespace, "many")
    cluster.apply(groups=2, membersPerGroup=1, replication="async", storage={"size": "2Gi"})
    cluster.wait_until_whole()
    before = OperatorFigures.of(operator)
    names = [f"many-{number}" for number in range(TOPICS)]
    topics = [topic(name, "many", writeQueues=1, readQueues=1) for name in names]
    times = load_topics(namespace.name, topics, READY_SECONDS)
    made = OperatorFigures.of(operator) - before
    versions = resource_versions(namespace)
    asked = OperatorFigures.of(operator)
    time.sleep(IDLE_SECONDS)
    idle = OperatorFigures.of(operator) - asked
    figures.keep(
        f"{TOPICS} topics Ready in {times.ready:.1f} s ({TOPICS / times.ready:.0f}/s), created in"
        f" {times.created:.1f} s; operator: {made.reads} reads, {made.writes} writes,"
        f" {made.processor_seconds:.1f} s of CPU, {before.memory_mib} -> {idle.memory_mib} MiB;"
        f" in {IDLE_SECONDS:g} idle seconds {idle.reads} reads, {idle.writes} writes,"
        f" {idle.processor_seconds:.1f} s of CPU",
        topics=TOPICS, seconds=times.ready, created=times.created, reads=made.reads,
        writes=made.writes, processor_seconds=made.processor_seconds,
        before_mib=before.memory_mib, after_mib=idle.memory_mib, idle_reads=idle.reads,
    )  # fmt: skip
    assert idle.writes == 0
    assert resource_versions(namespace) == versions
    assert idle.memory_mib <= MEMORY_MIB_MAX


@pytest.mark.e2e
@pytest.mark.skipif(not IS_LONG, reason="minutes of load: GANTRY_E2E_LONG=1")
@pytest.mark.timeout(900)
def test_many_topics_become_ready_while_the_brokers_serve(
    operator: Operator, java_image: str, namespace: Namespace, figures: Figures
) -> None:
    del operator, java_image
    with under_load(namespace) as scene:
        names = [f"busy-{number}" for number in range(TOPICS)]
        topics = [topic(name, "orders", writeQueues=1, readQueues=1) for name in names]
        times = load_topics(namespace.name, topics, READY_SECONDS)
        figures.keep(
            f"{TOPICS} topics Ready in {times.ready:.1f} s ({TOPICS / times.ready:.0f}/s) while"
            f" Java's clients send and consume",
            topics=TOPICS, seconds=times.ready,
        )  # fmt: skip
        check(scene, figures)


def resource_versions(namespace: Namespace) -> dict[str, str]:
    found = namespace.list("topics")
    assert all(is_true(each, "Ready") for each in found)
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
