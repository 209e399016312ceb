"""Tests `gantry createUser` and related commands with brokers in virtual time."""

from __future__ import annotations

import io
import json

import pytest

from gantrymq.acl.rights.refusal import MASTER_DECIDES
from gantrymq.cli.access import new_password
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.fakes.access.guarded_cluster import guarded_cluster
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.command_line import page_of, printed
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


@pytest.fixture
def cluster() -> Cluster:
    return guarded_cluster()


@pytest.fixture(autouse=True)
def _without_a_password_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(new_password.VARIABLE, raising=False)


def create(cluster: Cluster, name: str, more: str = "") -> None:
    printed(cluster, f"createUser -b {{broker}} -u {name} -p {name}-secret {more}")


def stored_password(cluster: Cluster, name: str, broker_name: str = "broker-a") -> str:
    users = cluster.brokers[broker_name].state.access.users
    assert users is not None
    return users.table.users[name].password


def test_user_is_created_changed_and_deleted(cluster: Cluster) -> None:
    shown = printed(cluster, "createUser -b {broker} -u orders -p orders-secret -t Normal")
    assert shown == [["create", "user", "to", "127.0.0.1:10911", "success."]]
    titles, row = printed(cluster, "getUser -b {broker} -u orders")
    assert titles == ["#UserName", "#Password", "#UserType", "#UserStatus"]
    assert row == ["orders", "***", "Normal", "enable"]
    shown = printed(cluster, "updateUser -b {broker} -u orders -s disable")
    assert shown == [["update", "user", "to", "127.0.0.1:10911", "success."]]
    rows = printed(cluster, "listUser -b {broker} -f order")
    assert rows[1:] == [["orders", "***", "Normal", "disable"]]
    shown = printed(cluster, "deleteUser -b {broker} -u orders")
    assert shown == [["delete", "user", "to", "127.0.0.1:10911", "success."]]
    with pytest.raises(CommandError, match=r"there is no user orders at 127\.0\.0\.1:10911"):
        page_of(cluster, f"getUser -b {cluster.addresses[0]} -u orders")


def test_users_of_a_cluster_are_created_at_each_broker_and_listed_once() -> None:
    cluster = guarded_cluster("a", "b")
    made = printed(cluster, "createUser -c DefaultCluster -u orders -p orders-secret")
    assert [line[3] for line in made] == cluster.addresses
    rows = printed(cluster, "listUser -c DefaultCluster")
    assert [row[0] for row in rows] == ["#UserName", "orders", "root", "get"]
    assert rows[-1] == ["get", "user", "from", "127.0.0.1:10911", "success."]


def test_list_without_users_shows_nothing(cluster: Cluster) -> None:
    assert printed(cluster, "listUser -b {broker} -f nobody") == []


def test_unknown_cluster_is_an_error(cluster: Cluster) -> None:
    with pytest.raises(RouteError, match="there is no cluster Other"):
        page_of(cluster, "listUser -c Other")


def test_refusal_shows_the_broker_s_text(cluster: Cluster) -> None:
    create(cluster, "orders")
    (failure,) = page_of(cluster, f"createUser -b {cluster.addresses[0]} -u orders -p x").failures
    assert isinstance(failure, BrokerError)
    assert failure.code == 16
    assert failure.remark.startswith("The user is existed")


def test_password_is_read_from_a_file(cluster: Cluster) -> None:
    cluster.driver.files["new"] = b"of-a-file\n"
    printed(cluster, "createUser -b {broker} -u orders --passwordFile new")
    assert stored_password(cluster, "orders") == "of-a-file"


def test_password_is_read_from_standard_input(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"of-a-pipe")))
    printed(cluster, "createUser -b {broker} -u orders --passwordFile -")
    assert stored_password(cluster, "orders") == "of-a-pipe"


def test_password_is_read_from_the_environment(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(cluster, "orders")
    monkeypatch.setenv(new_password.VARIABLE, "of-the-environment")
    printed(cluster, "updateUser -b {broker} -u orders")
    assert stored_password(cluster, "orders") == "of-the-environment"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "new has 0 lines; a password is one line"),
        (b"one\ntwo\n", "new has 2 lines; a password is one line"),
        (b"\xff\n", "new is not UTF-8"),
        (b"x" * 2000, "new has more than 1022 bytes"),
        (None, "the password file new does not exist"),
    ],
)
def test_file_without_a_password_is_refused(
    cluster: Cluster, content: bytes | None, what: str
) -> None:
    if content is not None:
        cluster.driver.files["new"] = content
    with pytest.raises(CommandError, match=what):
        page_of(cluster, f"createUser -b {cluster.addresses[0]} -u orders --passwordFile new")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("createUser -b x:1 -u orders", "the password is missing: give --passwordFile FILE"),
        ("createUser -u orders -p x", "the target is missing: give -b host:port"),
        ("createUser -b x:1 -u orders -p x --passwordFile y", "exclude each other"),
        ("updateUser -b x:1 -u orders", "the options change nothing"),
    ],
)
def test_invalid_command_lines_are_refused(cluster: Cluster, line: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        page_of(cluster, line)


def test_passwords_that_a_broker_sends_are_not_printed(cluster: Cluster) -> None:
    shown = {"username": "orders", "password": "orders-secret", "userType": "Normal"}
    cluster.faults[RequestCode.AUTH_GET_USER] = lambda _, __: Command(
        0, body=json.dumps(shown).encode()
    )
    page = page_of(cluster, f"getUser -b {cluster.addresses[0]} -u orders")
    assert "orders-secret" not in page.text() + str(page.json())
    assert page.json() == {
        "users": [
            {"userName": "orders", "password": "***", "userType": "Normal", "userStatus": "null"}
        ]
    }


def _as_follower(cluster: Cluster, where: str) -> str:
    """Make the second broker refuse changes as a follower does, and return its address."""
    follower = cluster.addresses[1]
    remark = f"{MASTER_DECIDES}, and {follower} is not. {where}"
    cluster.faults[follower] = lambda _, __: Command(1, remark=remark)
    return follower


def test_refusal_of_a_follower_is_no_failure_if_its_master_made_the_change() -> None:
    cluster = guarded_cluster("a", "b")
    follower = _as_follower(cluster, f"The master of a is {cluster.addresses[0]}")
    page = page_of(cluster, "deleteUser -c DefaultCluster -u orders")
    assert page.failures == []
    assert f"{follower} takes users and policies from its master." in page.text()


@pytest.mark.parametrize("where", ["The master of a is 10.0.0.9:10911", "b has no master now"])
def test_refusal_of_a_follower_is_a_failure_if_its_master_did_not_make_the_change(
    where: str,
) -> None:
    cluster = guarded_cluster("a", "b")
    _as_follower(cluster, where)
    assert len(page_of(cluster, "deleteUser -c DefaultCluster -u orders").failures) == 1


def test_refusal_of_a_single_follower_is_a_failure() -> None:
    cluster = guarded_cluster("a", "b")
    follower = _as_follower(cluster, f"The master of a is {cluster.addresses[0]}")
    page = page_of(cluster, f"deleteUser -b {follower} -u orders")
    assert page.parts == []
    assert f"The master of a is {cluster.addresses[0]}" in str(page.failures[0])


def test_copy_names_the_users_whose_passwords_are_hidden() -> None:
    cluster = guarded_cluster("a", "b")
    source, target = cluster.addresses
    create(cluster, "orders", "-t Super")
    page = page_of(cluster, f"copyUser -f {source} -t {target}")
    assert page.text() == f"copy user of root from {source} to {target} success.\n"
    (failure,) = page.failures
    assert f"gantry createUser -b {target} -u orders -t Super --passwordFile FILE" in str(failure)
    assert page_of(cluster, f"copyUser -f {source} -t {target} -u nobody").text() == ""


def test_copy_changes_the_type_of_users_that_both_brokers_have() -> None:
    cluster = guarded_cluster("a", "b")
    source, target = cluster.addresses
    printed(cluster, "createUser -c DefaultCluster -u orders -p orders-secret")
    printed(cluster, f"updateUser -b {source} -u orders -s disable -t Super")
    printed(cluster, f"copyUser -f {source} -t {target} -u orders")
    assert printed(cluster, f"getUser -b {target} -u orders")[1] == (
        ["orders", "***", "Super", "disable"]
    )
    assert stored_password(cluster, "orders", "b") == "orders-secret"


def test_copy_from_a_java_broker_copies_the_password() -> None:
    cluster = guarded_cluster("a", "b")
    source, target = cluster.addresses
    shown = [{"username": "orders", "password": "of-java", "userType": "Normal"}]

    def java(address: str, command: Command) -> Command:
        if address == source:
            return Command(0, body=json.dumps(shown).encode())
        return command

    cluster.faults[RequestCode.AUTH_LIST_USER] = java
    printed(cluster, f"copyUser -f {source} -t {target}")
    assert stored_password(cluster, "orders", "b") == "of-java"
