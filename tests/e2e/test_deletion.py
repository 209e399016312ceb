"""Deleting namespace, cluster, topics and operator, in every order, leaves nothing that hangs.

The short run takes three of the orders; GANTRY_E2E_LONG=1 takes all.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.kubectl import Namespace
from gantrymq.e2e.operator_install import Operator

GONE_SECONDS = 90.0
STEPS = ("topics", "cluster", "operator")
SHORT = [
    ("namespace",),
    ("operator", "topics", "cluster", "namespace"),
    ("cluster", "topics", "operator", "namespace"),
]
ALL = [
    *((*order, "namespace") for order in itertools.permutations(STEPS)),
    ("namespace",),
    ("operator", "namespace"),
]
ORDERS = ALL if os.environ.get("GANTRY_E2E_LONG") == "1" else SHORT


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_nothing_hangs(operator: Operator, namespace: Namespace, order: Sequence[str]) -> None:
    cluster = BrokerCluster(namespace, "going")
    storage = {"size": "1Gi", "onClusterDeletion": "Delete"}
    cluster.apply(groups=1, membersPerGroup=1, replication="async", storage=storage)
    names = ["keep", "drop", "drain"]
    policies = ("Retain", "Delete", "DeleteWhenDrained")
    for name, policy in zip(names, policies, strict=True):
        namespace.apply(topic(name, "going", deletionPolicy=policy))
    wait_for_topics(namespace, names, 120.0)
    try:
        for step in order:
            _delete(step, operator, namespace)
    finally:
        if "operator" in order:
            operator.install()


def _delete(step: str, operator: Operator, namespace: Namespace) -> None:
    timeout = f"--timeout={GONE_SECONDS:g}s"
    if step == "topics":
        namespace.run("delete", "topics", "--all", timeout, seconds=GONE_SECONDS + 10)
        assert not namespace.list("topics")
    elif step == "cluster":
        namespace.run("delete", "brokerclusters", "--all", timeout, seconds=GONE_SECONDS + 10)
        assert not namespace.list("brokerclusters")
    elif step == "operator":
        operator.uninstall()
    else:
        namespace.delete(GONE_SECONDS)
