"""Tests how roles are added to policies and removed from them."""

from __future__ import annotations

import pytest

from gantrymq.acl.users.grants import PolicyChange, granted, revoked
from gantrymq.acl.users.roles import ROLES
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo


def entry(
    resource: str, *actions: str, decision: str = "Allow", sources: tuple[str, ...] = ()
) -> PolicyEntryInfo:
    return PolicyEntryInfo(
        resource=resource, actions=actions, decision=decision, source_ips=sources
    )


def acl(*entries: PolicyEntryInfo, kind: str = "Custom") -> AclInfo:
    return AclInfo(subject="User:orders", policies=(PolicyInfo(policy_type=kind, entries=entries),))


def wanted(role: str, topics: list[str], groups: list[str]) -> list[PolicyEntryInfo]:
    return [each for policy in ROLES[role].policies(topics, groups) for each in policy.entries]


def test_role_of_a_user_without_policies_is_written_as_it_is() -> None:
    change = granted(None, wanted("producer", ["A"], []))
    assert change == PolicyChange((entry("Topic:A", "Pub"),))


def test_second_role_adds_actions_to_the_entry_of_the_first() -> None:
    change = granted(acl(entry("Topic:A", "Pub")), wanted("consumer", ["A"], ["g"]))
    assert change.written == (
        entry("Topic:A", "Pub", "Sub", "Update", "Get"),
        entry("Group:g", "Sub", "Update", "Get"),
    )


def test_granting_a_role_twice_changes_nothing() -> None:
    assert granted(acl(entry("topic:A", "All")), wanted("producer", ["A"], [])) == PolicyChange()
    assert PolicyChange().policies == ()


def test_default_entries_are_left_alone() -> None:
    before = acl(entry("Topic:A", "Sub"), kind="Default")
    change = granted(before, wanted("producer", ["A"], []))
    assert change.written == (entry("Topic:A", "Pub"),)
    assert revoked(before, wanted("consumer", ["A"], ["g"])) == PolicyChange()


def test_role_is_not_granted_against_an_entry_that_denies() -> None:
    before = acl(entry("Topic:A", "Pub", decision="Deny"))
    with pytest.raises(ConfigurationError, match=r"denies Pub on Topic:A.*gantry deleteAcl"):
        granted(before, wanted("producer", ["A"], []))
    assert revoked(before, wanted("producer", ["A"], [])) == PolicyChange()


def test_role_does_not_widen_the_addresses_of_an_entry() -> None:
    before = acl(entry("Topic:A", "Get", sources=("10.0.0.0/8",)))
    with pytest.raises(ConfigurationError, match=r"counts from 10\.0\.0\.0/8, .* all addresses"):
        granted(before, wanted("producer", ["A"], []))
    same = [entry("Topic:A", "Pub", sources=("10.1.2.3/8",))]
    assert granted(before, same).written == (
        entry("Topic:A", "Pub", "Get", sources=("10.0.0.0/8",)),
    )


def test_revoked_role_leaves_other_actions() -> None:
    before = acl(entry("Topic:A", "Pub", "Sub", "Update", "Get"), entry("Group:g", "Sub", "Get"))
    change = revoked(before, wanted("consumer", ["A"], ["g"]))
    assert change == PolicyChange((entry("Topic:A", "Pub"),), ("Group:g",))


def test_revoking_a_role_that_the_user_lacks_changes_nothing() -> None:
    assert revoked(None, wanted("producer", ["A"], [])) == PolicyChange()
    assert revoked(acl(entry("Topic:A", "Get")), wanted("producer", ["A"], [])) == PolicyChange()
