"""Tests the names of the objects of a cluster."""

from __future__ import annotations

from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.resources.names import CLUSTER_NAME_MAX, GROUPS_MAX, group_name

LABEL_MAX = 63
REVISION_HASH = "-6d4cf56db6"


def test_members_and_name_servers_have_stable_dns_names() -> None:
    names = ClusterNames("orders", "mq")
    member = "orders-broker-0-1.orders-broker-0-members.mq.svc:10912"
    assert names.member_address("broker-0", 2) == member
    assert names.name_server_addresses(2) == (
        "orders-namesrv-0.orders-namesrv.mq.svc:9876;orders-namesrv-1.orders-namesrv.mq.svc:9876"
    )


def test_the_claim_of_a_member_is_that_of_its_pod() -> None:
    names = ClusterNames("orders", "mq")
    assert names.pod("broker-3", 1) == "orders-broker-3-0"
    assert names.claim("broker-3", 1) == "store-orders-broker-3-0"


def test_names_fit_into_labels_with_the_longest_cluster_name() -> None:
    names = ClusterNames("c" * CLUSTER_NAME_MAX, "mq")
    group = group_name(GROUPS_MAX - 1)
    assert len(names.group(group) + REVISION_HASH) <= LABEL_MAX
    assert len(names.members(group)) <= LABEL_MAX
    assert len(names.name_servers + REVISION_HASH) <= LABEL_MAX


def test_a_selector_is_part_of_the_labels() -> None:
    names = ClusterNames("orders", "mq")
    selector = names.selector("broker", "broker-0")
    assert selector.items() <= names.labels("broker", "broker-0").items()


def test_the_lease_of_a_group_is_that_of_no_other_cluster_or_group() -> None:
    """Names of groups end in a number, so the last `-broker-<n>` is the group, whatever stands
    before it. Brokers are told this name (leaseName)."""
    clusters = ("a", "a-broker", "a-broker-0", "a-broker-0-broker", "a-broker-0-broker-1")
    groups = [group_name(index) for index in range(GROUPS_MAX)]
    names = [ClusterNames(cluster, "mq").group(group) for cluster in clusters for group in groups]
    assert len(set(names)) == len(names)
