"""Tests roles as templates of policies: what a user with each role may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.rights.actions import Action, action_names
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.acl.users.roles import ROLES
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user_rules import UserRules
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.auth import UserInfo
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

DOCS = Path(__file__).parents[4] / "docs" / "operations" / "security" / "accounts.md"
CONSUMING = {"topic": "orders-new", "consumerGroup": "orders-g"}
REQUESTS = {
    "send": (Code.SEND_MESSAGE, {"topic": "orders-new"}),
    "send elsewhere": (Code.SEND_MESSAGE, {"topic": "billing"}),
    "pull": (Code.PULL_MESSAGE, CONSUMING),
    "pull as another group": (Code.PULL_MESSAGE, {**CONSUMING, "consumerGroup": "billing"}),
    "commit": (Code.UPDATE_CONSUMER_OFFSET, CONSUMING),
    "reset": (Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "orders-new", "group": "orders-g"}),
    "query": (Code.QUERY_MESSAGE, {"topic": "orders-new"}),
    "look": (Code.GET_TOPIC_STATS_INFO, {"topic": "billing"}),
    "settings": (Code.GET_BROKER_CONFIG, {}),
    "change settings": (Code.UPDATE_BROKER_CONFIG, {}),
    "create topic": (Code.UPDATE_AND_CREATE_TOPIC, {"topic": "orders-new"}),
    "create user": (Code.AUTH_CREATE_USER, {"username": "x"}),
}


def done_by(name: str) -> set[str]:
    role = ROLES[name]
    topics = ["orders-*"] if role.on_topics else []
    groups = ["orders-*"] if role.on_groups else []
    info = UserInfo(username="user", password="12345678", user_type=role.user_type.value)
    table = UserTable().created(info)
    policies = role.policies(topics, groups)
    guard = Guard(
        Rules(),
        BROKER_REQUESTS,
        UserRules(authenticates=True, authorizes=True, cluster="C"),
        has_accounts=False,
    )
    guard.replace_users(table.with_policies("user", policies) if policies else table)
    by = Credentials("user", "12345678")
    return {
        what
        for what, (code, ext) in REQUESTS.items()
        if guard.check(signed(Command(code, ext=ext), by), Caller("10.1.1.1:1")) is None
    }


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("admin", set(REQUESTS)),
        ("producer", {"send"}),
        ("consumer", {"pull", "commit", "reset", "query"}),
        ("observer", {"query", "look", "settings"}),
    ],
)
def test_user_with_a_role_may_do_what_its_name_says(name: str, done: set[str]) -> None:
    assert done_by(name) == done


def test_role_is_given_the_names_it_needs_and_no_others() -> None:
    with pytest.raises(ConfigurationError, match="needs a name of a topic"):
        ROLES["producer"].policies([], [])
    with pytest.raises(ConfigurationError, match="is for no name of a group"):
        ROLES["producer"].policies(["a"], ["b"])


@pytest.mark.parametrize("name", ROLES)
def test_docs_describe_each_role(name: str) -> None:
    role = ROLES[name]
    cells = [_cell(each) for each in (role.on_topics, role.on_groups, role.on_all)]
    row = f"| {name} | {role.about} | {role.user_type.value} | {' | '.join(cells)} |"
    assert row in DOCS.read_text()


def _cell(actions: Action) -> str:
    return ", ".join(action_names(actions))
