"""Thousands of Topics: how fast they become Ready, and that an unchanged one costs no write.

GANTRY_E2E_TOPICS says how many (2 000; the long run 10 000).
"""

from __future__ import annotations

import json
import os
import time

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Namespace, is_true, run, wait_until
from gantrymq.e2e.operator_install import Operator

TOPICS = int(os.environ.get("GANTRY_E2E_TOPICS", "2000"))
FILES = 500
IDLE_SECONDS = 75.0
"""Longer than the operator's safety interval."""


@pytest.mark.e2e
@pytest.mark.timeout(1200)
def test_many_topics_become_ready_and_idle_ones_cost_no_write(
    operator: Operator, namespace: Namespace, figures: Figures
) -> None:
    cluster = BrokerCluster(namespace, "many")
    cluster.apply(groups=2, membersPerGroup=1, replication="async", storage={"size": "2Gi"})
    cluster.wait_until_whole()
    before = memory_mib(operator)
    began = time.monotonic()
    for first in range(0, TOPICS, FILES):
        names = range(first, min(first + FILES, TOPICS))
        items = [topic(f"many-{number}", "many", writeQueues=1, readQueues=1) for number in names]
        whole = {"apiVersion": "v1", "kind": "List", "items": items}
        namespace.run("create", "-f", "-", given=json.dumps(whole), seconds=300)
    created = time.monotonic() - began
    wait_until(lambda: ready(namespace) == TOPICS, f"{TOPICS} topics are Ready", 600.0)
    seconds = time.monotonic() - began
    versions = resource_versions(namespace)
    writes = api_writes(operator)
    time.sleep(IDLE_SECONDS)
    after = memory_mib(operator)
    figures.keep(
        f"{TOPICS} topics Ready in {seconds:.1f} s ({TOPICS / seconds:.0f}/s; kubectl needed"
        f" {created:.1f} s to create them); operator {before} -> {after} MiB",
        topics=TOPICS, seconds=seconds, created=created, before_mib=before, after_mib=after,
    )  # fmt: skip
    assert resource_versions(namespace) == versions
    assert api_writes(operator) == writes


def ready(namespace: Namespace) -> int:
    return sum(is_true(each, "Ready") for each in namespace.list("topics"))


def resource_versions(namespace: Namespace) -> dict[str, str]:
    found = namespace.list("topics")
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}


def _metrics(operator: Operator) -> list[str]:
    """The metrics of the operator that leads."""
    pages = []
    for pod in operator.pods():
        path = f"/api/v1/namespaces/{operator.namespace.name}/pods/{pod['metadata']['name']}:5559"
        pages.append(run("get", "--raw", f"{path}/proxy/metrics"))
    leading = [page for page in pages if "gantry_operator_leader 1.0" in page]
    assert len(leading) == 1, "one operator leads"
    return leading[0].splitlines()


def api_writes(operator: Operator) -> float:
    """Writes to the API, but for the renewals of the operator's own Lease."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in _metrics(operator)
        if line.startswith("gantry_operator_api_writes_total")
    )


def memory_mib(operator: Operator) -> int:
    [line] = [x for x in _metrics(operator) if x.startswith("process_resident_memory_bytes ")]
    return int(float(line.split()[1])) >> 20
