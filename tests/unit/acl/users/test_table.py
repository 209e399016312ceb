"""Tests users and policies as a value: RocketMQ's rules for changes, and Gantry's bounds."""

from __future__ import annotations

import pytest

from gantrymq.acl.plain.keys import UNTIL_REMOVED
from gantrymq.acl.users.policy import ENTRIES_MAX, PolicyType
from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.resource_pattern import ResourcePattern
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import CHARACTERS_MAX, UserStatus, UserType
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo, UserInfo

NOW_MS = 1_700_000_000_000
TABLE = UserTable().created(UserInfo(username="orders", password="12345678"))


def policy(
    *resources: str, actions: tuple[str, ...] = ("Pub",), kind: str = "Custom"
) -> PolicyInfo:
    entries = [
        PolicyEntryInfo(resource=resource, actions=actions, decision="Allow")
        for resource in resources
    ]
    return PolicyInfo(policy_type=kind, entries=tuple(entries))


def resources_of(table: UserTable, kind: PolicyType = PolicyType.CUSTOM) -> list[str]:
    return [entry.resource.key for entry in table.policies_of("orders").get(kind, ())]


def test_new_user_is_normal_and_enabled() -> None:
    user = TABLE.users["orders"]
    assert (user.type, user.status) == (UserType.NORMAL, UserStatus.ENABLE)


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (UserInfo(username="orders", password="p"), "The user is existed"),
        (UserInfo(username=" ", password="p"), "username can not be blank"),
        (UserInfo(username="other", password=" "), "password can not be blank"),
        (UserInfo(username="x" * (CHARACTERS_MAX + 1), password="p"), "username can not be used"),
        (UserInfo(username="other", password="a\nb"), "password can not be used"),
    ],
)
def test_invalid_user_is_refused(info: UserInfo, words: str) -> None:
    with pytest.raises(RefusedChangeError, match=words):
        TABLE.created(info)


def test_update_changes_only_the_named_fields() -> None:
    table = TABLE.updated(UserInfo(username="orders", user_type="super"), NOW_MS)
    user = table.users["orders"]
    assert (user.type, user.status, user.password) == (
        UserType.SUPER,
        UserStatus.ENABLE,
        "12345678",
    )


def test_update_of_missing_user_is_refused() -> None:
    with pytest.raises(RefusedChangeError, match="The user is not exist"):
        TABLE.updated(UserInfo(username="other", password="p"), NOW_MS)


def test_replaced_password_is_invalid_at_once_by_default() -> None:
    table = TABLE.updated(UserInfo(username="orders", password="new"), NOW_MS)
    assert table.users["orders"].old_key is None


def test_old_password_stays_valid_for_the_requested_time() -> None:
    update = UserInfo(username="orders", password="new", old_password_seconds=60)
    old_key = TABLE.updated(update, NOW_MS).users["orders"].old_key
    assert old_key is not None
    assert old_key.secret == TABLE.users["orders"].password
    assert old_key.is_valid(NOW_MS + 59_999)
    assert not old_key.is_valid(NOW_MS + 60_000)


def test_old_password_can_stay_until_it_is_removed() -> None:
    update = UserInfo(username="orders", password="new", old_password_seconds=UNTIL_REMOVED)
    table = TABLE.updated(update, NOW_MS)
    assert table.users["orders"].old_key is not None
    removed = table.updated(UserInfo(username="orders", old_password_seconds=0), NOW_MS)
    assert removed.users["orders"].old_key is None


def test_old_password_cannot_stay_for_years() -> None:
    update = UserInfo(username="orders", password="new", old_password_seconds=1 << 40)
    with pytest.raises(RefusedChangeError, match="oldPasswordSeconds"):
        TABLE.updated(update, NOW_MS)


def test_response_contains_no_password() -> None:
    update = UserInfo(username="orders", password="new-secret", old_password_seconds=60)
    shown = TABLE.updated(update, NOW_MS).users["orders"].to_info()
    assert shown.password is None
    assert shown.old_password_until == NOW_MS + 60_000


def test_second_entry_for_a_resource_replaces_the_first() -> None:
    table = TABLE.with_policies("orders", [policy("Topic:A", "Topic:B")])
    table = table.with_policies("orders", [policy("Topic:A", actions=("Sub",)), policy("Topic:C")])
    assert resources_of(table) == ["Topic:A", "Topic:B", "Topic:C"]
    acl = table.acl_of("orders")
    assert acl is not None
    assert acl.policies[0].entries[0].actions == ("Sub",)


def test_policies_of_both_types_are_kept_apart() -> None:
    table = TABLE.with_policies("orders", [policy("Topic:A"), policy("Topic:A", kind="Default")])
    removed = table.without_policies("orders", PolicyType.CUSTOM, ResourcePattern.parse("Topic:A"))
    assert resources_of(removed) == []
    assert resources_of(removed, PolicyType.DEFAULT) == ["Topic:A"]


def test_policies_are_removed_with_their_last_entry() -> None:
    table = TABLE.with_policies("orders", [policy("Topic:A")])
    removed = table.without_policies("orders", PolicyType.CUSTOM, ResourcePattern.parse("Topic:A"))
    assert removed.acl_of("orders") is None


def test_policies_are_removed_with_their_user() -> None:
    table = TABLE.with_policies("orders", [policy("Topic:A")]).without_user("orders")
    again = table.created(UserInfo(username="orders", password="12345678"))
    assert again.acl_of("orders") is None


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (PolicyEntryInfo(actions=("Pub",), decision="Allow"), "The resource is null"),
        (PolicyEntryInfo(resource="Queue:A", actions=("Pub",)), "The resource is null"),
        (PolicyEntryInfo(resource="Topic:A", decision="Allow"), "The actions is empty"),
        (PolicyEntryInfo(resource="Topic:A", actions=("Any",)), "The actions can not be Any"),
        (PolicyEntryInfo(resource="Topic:A", actions=("Pub",)), "The decision is null or illegal"),
        (
            PolicyEntryInfo(resource="Topic:A", actions=("Pub",), source_ips=("10.1.1",)),
            "The source ip is invalid",
        ),
        (
            PolicyEntryInfo(resource="Topic:A", actions=("Pub",), source_ips=(" ",)),
            "The source ip is empty",
        ),
    ],
)
def test_incomplete_entry_is_refused(entry: PolicyEntryInfo, words: str) -> None:
    with pytest.raises(RefusedChangeError, match=words):
        TABLE.with_policies("orders", [PolicyInfo(entries=(entry,))])


def test_policies_without_a_resource_are_refused() -> None:
    with pytest.raises(RefusedChangeError, match="The policies is empty"):
        TABLE.with_policies("orders", [PolicyInfo()])


def test_policies_of_missing_user_are_refused() -> None:
    with pytest.raises(RefusedChangeError, match="The subject of User:other is not exist"):
        TABLE.with_policies("other", [policy("Topic:A")])


def test_entries_of_one_user_are_bounded() -> None:
    table = TABLE.with_policies("orders", [policy(*(f"Topic:{n}" for n in range(ENTRIES_MAX)))])
    with pytest.raises(RefusedChangeError, match="too many"):
        table.with_policies("orders", [policy("Topic:one-more")])
