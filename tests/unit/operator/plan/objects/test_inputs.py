"""Tests that the inputs of pods do not change with the version of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.plan.objects.pods.digest import digest
from gantrymq.operator.plan.objects.pods.inputs import (
    broker_inputs,
    name_server_inputs,
    required_in_sync,
)
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls
from gantrymq.operator_model.samples import cluster

FULL = {
    "groups": 3,
    "membersPerGroup": 3,
    "minInSyncReplicas": 2,
    "flush": "sync",
    "config": {"fileReservedTime": "48"},
    "image": {"broker": "b:2", "nameServer": "n:2", "pullPolicy": "Always", "pullSecrets": ["s"]},
    "resources": {"broker": {"limits": {"memory": "2Gi"}}},
    "scheduling": {
        "zones": "Require",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "value": "mq", "effect": "NoSchedule"}],
        "priorityClassName": "high",
    },
    "pods": {
        "labels": {"team": "a"},
        "annotations": {"b": "c"},
        "terminationGracePeriodSeconds": 90,
    },
}


# A digest that changes here restarts every member of every cluster when the operator is upgraded.
# A new field belongs into the inputs only while it differs from its default.
@pytest.mark.parametrize(
    ("spec", "of_brokers", "of_name_servers"),
    [({}, "4ed097124f", "d8a9ba6172"), (FULL, "0e531badc1", "6f72cbae19")],
    ids=["minimal", "full"],
)
def test_inputs_of_known_resources_stay_the_same_in_every_version(
    spec: dict[str, Any], of_brokers: str, of_name_servers: str
) -> None:
    known = cluster(**spec)
    members = known.spec.members_per_group
    assert (
        digest(broker_inputs(known, "broker-0", members, "10.96.0.7", LinkTls.ACCEPTED))
        == of_brokers
    )
    assert digest(name_server_inputs(known, "10.96.0.8")) == of_name_servers


@pytest.mark.parametrize(
    "spec",
    [
        {"paused": True},
        {"groups": 5},
        {"preferredMasters": {"broker-0": 2}},
        {"nameServerConfig": {"orderMessageEnable": "true"}},
        {"storage": {"size": "40Gi", "onClusterDeletion": "Delete"}},
        {"image": {"nameServer": "n:2"}},
        {"pods": {"logFormat": "console"}},
    ],
    ids=str,
)
def test_fields_that_brokers_do_not_depend_on_are_no_inputs(spec: dict[str, Any]) -> None:
    before = broker_inputs(cluster(), "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED)
    assert broker_inputs(cluster(**spec), "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED) == before


@pytest.mark.parametrize(
    "spec",
    [
        {"config": {"fileReservedTime": "48"}},
        {"flush": "sync"},
        {"replication": "async"},
        {"nameServers": 3},
        {"image": {"broker": "b:2"}},
        {"pods": {"terminationGracePeriodSeconds": 90}},
        {"pods": {"logFormat": "json"}},
        {"scheduling": {"zones": "Ignore"}},
        {"resources": {"broker": {"limits": {"memory": "2Gi"}}}},
    ],
    ids=str,
)
def test_fields_that_brokers_depend_on_are_inputs(spec: dict[str, Any]) -> None:
    before = broker_inputs(cluster(), "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED)
    assert broker_inputs(cluster(**spec), "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED) != before


def test_tls_of_the_links_is_an_input_only_where_the_settings_do_not_say_it() -> None:
    plain = broker_inputs(cluster(), "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED)
    named = cluster(replicationTls="accepted")
    assert broker_inputs(named, "broker-0", 2, "10.96.0.7", LinkTls.ACCEPTED) == plain
    used = broker_inputs(named, "broker-0", 2, "10.96.0.7", LinkTls.USED)
    assert used.pop("replicationTls") == {"haTls": "used"}
    assert used == plain


def test_a_group_that_was_created_smaller_can_acknowledge() -> None:
    spec = cluster(membersPerGroup=3, minInSyncReplicas=3).spec
    assert required_in_sync(spec, 2) == 2
