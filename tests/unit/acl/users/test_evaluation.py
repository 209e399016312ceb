"""Tests which policy entry decides about a request."""

from __future__ import annotations

import pytest

from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.rights import Need, Right, cluster_need, group_need, topic_need
from gantrymq.acl.users.evaluation import decision
from gantrymq.acl.users.table import UserTable
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo, UserInfo

PEER = "10.1.2.3:40000"
PUB_A = topic_need("orders-a", Right.PUB)
USER = UserTable().created(UserInfo(username="u", password="12345678"))


def entry(text: str) -> PolicyEntryInfo:
    """`Allow Topic:a Pub,Sub 10.0.0.0/8`"""
    decision_name, resource, actions, *addresses = text.split()
    return PolicyEntryInfo(
        resource=resource,
        actions=tuple(actions.split(",")),
        source_ips=tuple(addresses),
        decision=decision_name,
    )


def said(need: Need, *custom: str, default: tuple[str, ...] = (), peer: str = PEER) -> str | None:
    policies = [
        PolicyInfo(policy_type="Custom", entries=tuple(map(entry, custom))),
        PolicyInfo(policy_type="Default", entries=tuple(map(entry, default))),
    ]
    table = USER.with_policies("u", policies)
    found = decision(table.policies_of("u"), need, peer, "DefaultCluster")
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("wanted", "entries"),
    [
        ("Allow", ["Allow Topic:orders-a Pub"]),
        ("Allow", ["Allow Topic:orders-* Pub"]),
        ("Allow", ["Allow Topic:* Pub"]),
        ("Allow", ["Allow * Pub"]),
        ("Allow", ["Allow Topic:orders-a All"]),
        ("Allow", ["allow topic:orders-a pub"]),
        (None, ["Allow Topic:orders-b Pub"]),
        (None, ["Allow Topic:orders-a Sub,Get,List,Create,Update,Delete"]),
        (None, ["Allow Group:orders-a Pub"]),
        (None, ["Allow Cluster:* All"]),
        (None, ["Allow Topic:Orders-a Pub"]),
        ("Deny", ["Allow Topic:orders-* Pub", "Deny Topic:orders-a Pub"]),
        ("Allow", ["Deny Topic:orders-* Pub", "Allow Topic:orders-a Pub"]),
        ("Allow", ["Deny Topic:o* Pub", "Allow Topic:orders-* Pub"]),
        ("Deny", ["Allow Topic:o* Pub", "Deny Topic:orders-* Pub"]),
        ("Deny", ["Allow * Pub", "Deny Topic:* Pub"]),
        ("Allow", ["Deny * Pub", "Allow Topic:* Pub"]),
    ],
)
def test_closest_entry_decides(wanted: str | None, entries: list[str]) -> None:
    assert said(PUB_A, *entries) == wanted
    assert said(PUB_A, *reversed(entries)) == wanted


def test_default_entries_count_only_where_no_custom_entry_matches() -> None:
    default = ("Deny Topic:orders-a Pub",)
    assert said(PUB_A, "Allow Topic:* Pub", default=default) == "Allow"
    assert said(PUB_A, "Allow Topic:* Sub", default=default) == "Deny"


@pytest.mark.parametrize(
    ("peer", "wanted"),
    [
        ("10.1.2.3:1", "Allow"),
        ("11.1.2.3:1", None),
        ("[::ffff:10.1.2.3]:1", "Allow"),
        ("[2001:db8::7]:1", "Allow"),
        ("[2001:db9::7]:1", None),
        ("unknown", None),
    ],
)
def test_entry_with_addresses_applies_to_these_addresses_only(
    peer: str, wanted: str | None
) -> None:
    assert said(PUB_A, "Allow Topic:* Pub 10.0.0.0/8 2001:db8::/32", peer=peer) == wanted


def test_one_of_the_needed_actions_is_enough() -> None:
    need = group_need("g").by(Action.SUB | Action.GET)
    assert said(need, "Allow Group:g Get") == "Allow"
    assert said(need, "Allow Group:g Update") is None


def test_request_about_the_server_is_about_its_cluster() -> None:
    need = cluster_need(Action.UPDATE)
    assert said(need, "Allow Cluster:DefaultCluster Update") == "Allow"
    assert said(need, "Allow Cluster:Other Update") is None
