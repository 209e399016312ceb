"""Tests what the Role of brokers allows in the Kubernetes API."""

from __future__ import annotations

import base64

from gantrymq.operator.plan.objects.access import replication_secret, role, role_binding
from gantrymq.operator_model.samples import cluster


def test_brokers_touch_the_leases_and_slices_of_their_own_cluster_only() -> None:
    rules = role(cluster(), ["broker-0", "broker-1"])["rules"]
    unnamed = {
        (resource, verb)
        for rule in rules
        if "resourceNames" not in rule
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert unnamed == {
        ("leases", "create"), ("endpointslices", "create"), ("endpointslices", "list"),
        ("endpointslices/restricted", "create"),
    }  # fmt: skip
    named = {
        rule["resources"][0]: rule["resourceNames"] for rule in rules if "resourceNames" in rule
    }
    assert named["leases"] == ["orders-broker-0", "orders-broker-1"]
    assert named["endpointslices"] == ["orders-broker-0-master", "orders-broker-1-master"]


def test_brokers_may_not_delete_leases() -> None:
    rules = role(cluster(), ["broker-0"])["rules"]
    assert not any("leases" in rule["resources"] and "delete" in rule["verbs"] for rule in rules)


def test_the_binding_names_the_account_of_the_brokers() -> None:
    [subject] = role_binding(cluster())["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": "orders-broker", "namespace": "mq"}


def test_the_secret_holds_the_text_it_was_given() -> None:
    data = replication_secret(cluster(), "s" * 32)["data"]
    assert base64.b64decode(data["secret"]) == b"s" * 32
