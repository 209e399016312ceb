"""Tests `gantry createAcl` and related commands with brokers in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.access.guarded_cluster import guarded_cluster
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.command_line import page_of, printed

TITLES = ["#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision"]
ENTRIES = "-s User:orders -r Topic:A,Group:g* -a Pub,Sub -d Allow"


@pytest.fixture
def cluster() -> Cluster:
    """Two brokers with a user that has no policies."""
    cluster = guarded_cluster("a", "b")
    printed(cluster, "createUser -c DefaultCluster -u orders -p orders-secret")
    return cluster


def test_policies_are_created_changed_and_deleted(cluster: Cluster) -> None:
    made = printed(cluster, f"createAcl -b {{broker}} {ENTRIES} -i 10.0.0.0/8,127.0.0.1")
    assert made == [["create", "acl", "to", "127.0.0.1:10911", "success."]]
    titles, *rows = printed(cluster, "getAcl -b {broker} -s User:orders")
    assert titles == TITLES
    sources = ["[10.0.0.0/8,", "127.0.0.1]"]
    assert rows == [
        ["User:orders", "Custom", resource, "[Pub,", "Sub]", *sources, "Allow"]
        for resource in ("Topic:A", "Group:g*")
    ]
    made = printed(cluster, "updateAcl -b {broker} -s User:orders -r Topic:A -a Get -d Deny")
    assert made == [["update", "acl", "to", "127.0.0.1:10911", "success."]]
    rows = printed(cluster, "listAcl -b {broker} -s orders -r Topic:")
    assert rows[1:] == [["User:orders", "Custom", "Topic:A", "[Get]", "null", "Deny"]]
    printed(cluster, "deleteAcl -b {broker} -s User:orders -r Topic:A")
    assert len(printed(cluster, "getAcl -b {broker} -s User:orders")) == 2
    made = printed(cluster, "deleteAcl -b {broker} -s User:orders")
    assert made == [["delete", "acl", "to", "127.0.0.1:10911", "success."]]
    assert printed(cluster, "getAcl -b {broker} -s User:orders") == []
    assert printed(cluster, "listAcl -b {broker}") == []


def test_policies_of_several_brokers_are_separate_in_json(cluster: Cluster) -> None:
    printed(cluster, f"createAcl -c DefaultCluster {ENTRIES}")
    shown = page_of(cluster, "listAcl -c DefaultCluster")
    assert shown.text().count("#Subject") == 2
    assert list(shown.json()) == cluster.addresses
    one = page_of(cluster, f"listAcl -b {cluster.addresses[0]} -r Topic").json()
    assert one == {
        "policies": [
            {
                "policies": [
                    {
                        "entries": [
                            {"actions": ["Pub", "Sub"], "decision": "Allow", "resource": "Topic:A"}
                        ],
                        "policyType": "Custom",
                    }
                ],
                "subject": "User:orders",
            }
        ]
    }


def test_refusals_show_the_broker_s_text(cluster: Cluster) -> None:
    with pytest.raises(BrokerError, match="The subject is not exist"):
        page_of(cluster, f"getAcl -b {cluster.addresses[0]} -s User:nobody")
    failures = page_of(
        cluster, "createAcl -c DefaultCluster -s User:orders -r Queue:A -a Pub -d Allow"
    ).failures
    assert ["The resource is null" in str(each) for each in failures] == [True, True]


def test_policies_are_copied(cluster: Cluster) -> None:
    source, target = cluster.addresses
    printed(cluster, f"createAcl -b {source} {ENTRIES}")
    for line in (
        f"copyAcl -f {source} -t {target}",
        f"copyAcl -f {source} -t {target} -s User:orders",
    ):
        assert page_of(cluster, line).text() == (
            f"copy acl of User:orders from {source} to {target} success.\n"
        )
    shown = [printed(cluster, f"getAcl -b {each} -s User:orders") for each in (source, target)]
    assert shown[0] == shown[1]
