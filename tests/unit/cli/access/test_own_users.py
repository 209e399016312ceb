"""Tests `gantry user` and `gantry acl` with brokers in virtual time."""

from __future__ import annotations

import json
import re

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.cli.access import new_password
from gantrymq.cli.frame.failures import UsageError
from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.access.guarded_cluster import ROOT, guarded_cluster
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.command_line import page_of, printed
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import JsonObject

CREATE = "user create orders -p orders-secret"


@pytest.fixture
def cluster() -> Cluster:
    return guarded_cluster("a", "b")


@pytest.fixture(autouse=True)
def _without_a_password_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(new_password.VARIABLE, raising=False)


def is_password_accepted(cluster: Cluster, password: str) -> bool:
    """Whether the broker accepts the password of `orders`. The refusal of a Normal user differs."""
    cluster.credentials = Credentials("orders", password)
    try:
        page_of(cluster, f"listUser -b {cluster.addresses[0]}")
    except BrokerError as error:
        return "check signature failed" not in error.remark
    finally:
        cluster.credentials = ROOT
    return True


def test_user_is_created_and_deleted_at_each_broker_of_the_only_cluster(cluster: Cluster) -> None:
    made = printed(cluster, CREATE)
    assert made == [["orders", "is", "created", "at", f"{each}."] for each in cluster.addresses]
    rows = printed(cluster, "user list -f order")
    assert rows == [
        ["#User", "#Type", "#Status", "#OldPassword", "#Brokers"],
        ["orders", "Normal", "enable", "-", "2", "of", "2"],
    ]
    printed(cluster, "user update orders -s disable -b {broker}")
    rows = printed(cluster, "user list -f order")
    assert [row[2:] for row in rows[1:]] == [
        ["disable", "-", "1", "of", "2"],
        ["enable", "-", "1", "of", "2"],
    ]
    printed(cluster, "user delete orders")
    assert printed(cluster, "user list -f order")[1:] == []


def test_old_password_stays_valid_during_rotation(cluster: Cluster) -> None:
    printed(cluster, CREATE)
    page = page_of(cluster, "user rotate orders -p new-secret")
    assert "gantry user rotate orders --end" in page.text()
    assert is_password_accepted(cluster, "orders-secret")
    assert is_password_accepted(cluster, "new-secret")
    assert printed(cluster, "user list -f order")[1][3:5] == ["until", "--end"]
    printed(cluster, "user rotate orders --end")
    assert not is_password_accepted(cluster, "orders-secret")
    assert is_password_accepted(cluster, "new-secret")
    assert printed(cluster, "user list -f order")[1][3] == "-"


def test_old_password_expires(cluster: Cluster) -> None:
    printed(cluster, CREATE)
    printed(cluster, "user rotate orders -p new-secret --oldPasswordSeconds 60")
    row = page_of(cluster, "user list -f order").text().splitlines()[1]
    assert re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row)
    cluster.pass_time(59.0)
    assert is_password_accepted(cluster, "orders-secret")
    cluster.pass_time(2.0)
    assert not is_password_accepted(cluster, "orders-secret")


def test_rotation_at_a_broker_of_rocketmq_is_refused(cluster: Cluster) -> None:
    shown = b'{"password":"orders-secret","username":"orders"}'
    cluster.faults[RequestCode.AUTH_GET_USER] = lambda _, __: Command(0, body=shown)
    page = page_of(cluster, "user rotate orders -p new-secret")
    assert page.parts == []
    assert "keeps one password" in str(page.failures[0])
    assert "secret" not in str(page.failures)
    assert cluster.asked_of(RequestCode.AUTH_UPDATE_USER) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("user rotate orders --end -p x", "--end removes the old password"),
        ("user rotate orders", "the password is missing"),
        (f"{CREATE} --topic A", "need --role, which is missing"),
        (
            f"{CREATE} --role owner",
            "there is no role owner. The roles are admin: everything; producer",
        ),
        (f"{CREATE} --role producer", "needs a name of a topic; --topic and --group give names"),
        ("acl grant orders --role observer --topic A", "is for no name of a topic"),
    ],
)
def test_invalid_command_lines_are_refused(cluster: Cluster, line: str, what: str) -> None:
    with pytest.raises(UsageError, match=re.escape(what)):
        page_of(cluster, line)


def test_user_is_created_with_a_role(cluster: Cluster) -> None:
    printed(cluster, f"{CREATE} --role producer --topic A --topic orders-* --sourceIp 10.0.0.0/8")
    rows = page_of(cluster, "acl list").json()["policies"]
    assert rows == [
        {
            "user": "orders",
            "policyType": "Custom",
            "resource": resource,
            "actions": "Pub",
            "sourceIp": "10.0.0.0/8",
            "decision": "Allow",
            "brokers": "2 of 2",
        }
        for resource in ("Topic:A", "Topic:orders-*")
    ]


def test_roles_are_granted_and_revoked(cluster: Cluster) -> None:
    printed(cluster, f"{CREATE} --role producer --topic A")
    printed(cluster, "acl grant orders --role consumer --topic A --group g")
    shown = [[*row[2:-6], row[-5]] for row in printed(cluster, "acl list")[1:]]
    assert shown == [
        ["Group:g", "Sub,", "Update,", "all"],
        ["Topic:A", "Pub,", "Sub,", "Update,", "all"],
    ]
    made = printed(cluster, "acl revoke orders --role consumer --topic A --group g")
    assert made[0][:4] == ["orders", "is", "not", "consumer"]
    (row,) = printed(cluster, "acl list")[1:]
    assert row[2:4] == ["Topic:A", "Pub"]
    printed(cluster, "acl revoke orders --role producer --topic A")
    assert printed(cluster, "acl list")[1:] == []


def test_administrator_is_a_super_user(cluster: Cluster) -> None:
    printed(cluster, CREATE)
    printed(cluster, "acl grant orders --role admin")
    assert printed(cluster, "user list -f order")[1][1] == "Super"
    printed(cluster, "acl revoke orders --role admin")
    assert printed(cluster, "user list -f order")[1][1] == "Normal"
    printed(cluster, "user create chief -p chief-secret --role admin")
    assert printed(cluster, "user list -f chief")[1][1] == "Super"


def test_role_for_an_unknown_user_shows_the_broker_s_refusal(cluster: Cluster) -> None:
    failures = page_of(cluster, "acl grant missing --role observer").failures
    assert len(failures) == 2
    assert "The subject is not exist" in str(failures[0])


def test_choice_between_several_clusters_is_required(cluster: Cluster) -> None:
    info: JsonObject = {"brokerAddrTable": {}, "clusterAddrTable": {"east": [], "west": []}}
    answer = Command(0, body=json.dumps(info).encode())
    cluster.faults[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _, __: answer
    with pytest.raises(UsageError, match="the name servers know these clusters: east, west"):
        page_of(cluster, "user list")
