"""Tests which groups a cluster has, and that a spec alone removes none."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.plan.objects.groups import GroupSize, group_sizes
from gantrymq.operator_model.samples import cluster


def stateful_set(members: str = "2", size: str = "20Gi") -> dict[str, Any]:
    claim = {"spec": {"resources": {"requests": {"storage": size}}}}
    return {
        "metadata": {"annotations": {"gantrymq.dev/members": members}},
        "spec": {"volumeClaimTemplates": [claim], "replicas": 7},
    }


def test_a_new_cluster_has_what_its_spec_asks_for() -> None:
    sizes = group_sizes(cluster(groups=2, membersPerGroup=3), {}, {})
    assert sizes == (GroupSize("broker-0", 3, "20Gi", ""), GroupSize("broker-1", 3, "20Gi", ""))


def test_groups_beyond_the_spec_stay() -> None:
    found = {"broker-0": stateful_set(), "broker-1": stateful_set(), "broker-2": stateful_set()}
    names = [size.name for size in group_sizes(cluster(groups=1), {}, found)]
    assert names == ["broker-0", "broker-1", "broker-2"]


def test_a_group_keeps_the_members_and_volumes_it_was_created_with() -> None:
    wanted = cluster(membersPerGroup=3, storage={"size": "40Gi"})
    [size] = group_sizes(wanted, {}, {"broker-0": stateful_set("2", "20Gi")})
    assert (size.members, size.storage_size) == (2, "20Gi")


def test_the_status_remembers_a_lost_stateful_set() -> None:
    members = [{"pod": "orders-broker-0-0"}, {"pod": "orders-broker-0-1"}]
    group = {"name": "broker-0", "members": members, "address": "10.96.0.7:10911"}
    [size] = group_sizes(cluster(membersPerGroup=3), {"groups": [group]}, {})
    assert (size.members, size.address) == (2, "10.96.0.7")


def test_an_ipv6_address_is_remembered_without_brackets() -> None:
    status = {"groups": [{"name": "broker-0", "address": "[fd00::7]:10911"}]}
    [size] = group_sizes(cluster(), status, {})
    assert size.address == "fd00::7"


def test_the_address_is_remembered_by_the_stateful_set() -> None:
    found = stateful_set()
    found["metadata"]["annotations"]["gantrymq.dev/address"] = "10.96.0.7"
    [size] = group_sizes(cluster(), {}, {"broker-0": found})
    assert size.address == "10.96.0.7"


def test_an_invalid_annotation_does_not_count() -> None:
    [size] = group_sizes(cluster(), {}, {"broker-0": stateful_set("many")})
    assert size.members == 2
