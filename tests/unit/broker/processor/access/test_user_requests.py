"""Requests 3001 to 3010 at a broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.acl.users import table_file
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.replication.metadata_replication import USERS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

ROOT = Credentials("root", "root-secret")
OPERATOR = Credentials("operator", "operator-secret")
SETTINGS = BrokerSettings(
    authentication_enabled=True,
    authorization_enabled=True,
    init_authentication_user='{"username":"root","password":"root-secret"}',
)
ORDERS = {"password": "orders-secret"}


def ask(
    broker: OpenedBroker,
    code: Code,
    body: dict[str, Any] | None = None,
    by: Credentials | None = ROOT,
    **ext: str,
) -> Command:
    content = b"" if body is None else json.dumps(body).encode()
    command = Command(code, ext=ext, body=content)
    if by is not None:
        command = signed(command, by)
    return broker.ask(code, ext=command.ext, body=content)


def opened() -> OpenedBroker:
    """With a user that has Cluster:Update, as Java's administrators of a cluster."""
    broker = OpenedBroker(SETTINGS)
    create(broker, "operator", {"password": OPERATOR.secret_key})
    permit(broker, "operator", "Cluster:*", ["Update", "Get"])
    return broker


def create(broker: OpenedBroker, name: str, body: dict[str, Any] = ORDERS) -> None:
    answer = ask(broker, Code.AUTH_CREATE_USER, body, username=name)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def permit(broker: OpenedBroker, name: str, resource: str, actions: list[str]) -> Command:
    entry = {"resource": resource, "actions": actions, "decision": "Allow"}
    subject = f"User:{name}"
    body = {"subject": subject, "policies": [{"entries": [entry]}]}
    return ask(broker, Code.AUTH_CREATE_ACL, body, subject=subject)


def body_of(answer: Command) -> Any:
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return json.loads(answer.body) if answer.body else None


def test_first_user_is_there_and_on_disk() -> None:
    broker = OpenedBroker(SETTINGS)
    assert ask(broker, Code.GET_BROKER_RUNTIME_INFO).code == ResponseCode.SUCCESS
    assert "root" in table_file.read(broker.saved[File.USERS]).users


def test_first_user_keeps_the_password_it_was_given_since() -> None:
    broker = OpenedBroker(SETTINGS)
    ask(broker, Code.AUTH_UPDATE_USER, {"password": "changed"}, username="root")
    again = OpenedBroker(SETTINGS, files=broker.saved)
    assert ask(again, Code.GET_BROKER_RUNTIME_INFO).code == ResponseCode.NO_PERMISSION
    changed = Credentials("root", "changed")
    assert ask(again, Code.GET_BROKER_RUNTIME_INFO, by=changed).code == ResponseCode.SUCCESS


def test_user_is_shown_without_its_password() -> None:
    broker = opened()
    create(broker, "orders")
    answer = ask(broker, Code.AUTH_GET_USER, username="orders")
    assert body_of(answer) == {
        "userStatus": "enable",
        "userType": "Normal",
        "username": "orders",
    }
    assert b"secret" not in ask(broker, Code.AUTH_LIST_USER).body


def test_users_are_listed_by_name_and_filtered() -> None:
    broker = opened()
    create(broker, "orders")
    create(broker, "billing")
    names = [each["username"] for each in body_of(ask(broker, Code.AUTH_LIST_USER))]
    assert names == ["billing", "operator", "orders", "root"]
    found = body_of(ask(broker, Code.AUTH_LIST_USER, filter="r"))
    assert [each["username"] for each in found] == ["operator", "orders", "root"]
    assert body_of(ask(broker, Code.AUTH_LIST_USER, filter="zz")) is None


def test_user_that_is_missing_is_shown_as_nothing() -> None:
    assert body_of(ask(opened(), Code.AUTH_GET_USER, username="nobody")) is None


@pytest.mark.parametrize("code", [Code.AUTH_CREATE_USER, Code.AUTH_UPDATE_USER])
def test_change_without_a_name_is_refused(code: Code) -> None:
    answer = ask(opened(), code, ORDERS)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert answer.remark == "The username is blank"


def test_user_is_changed_and_deleted() -> None:
    broker = opened()
    create(broker, "orders")
    orders = Credentials("orders", "orders-secret")
    permit(broker, "orders", "Cluster:*", ["Get"])
    assert ask(broker, Code.GET_BROKER_RUNTIME_INFO, by=orders).code == ResponseCode.SUCCESS
    ask(broker, Code.AUTH_UPDATE_USER, {"userStatus": "disable"}, username="orders")
    answer = ask(broker, Code.GET_BROKER_RUNTIME_INFO, by=orders)
    assert (answer.remark or "").startswith("User:orders is disabled.")
    assert ask(broker, Code.AUTH_DELETE_USER, username="orders").code == ResponseCode.SUCCESS
    assert ask(broker, Code.AUTH_DELETE_USER, username="orders").code == ResponseCode.SUCCESS
    answer = ask(broker, Code.GET_BROKER_RUNTIME_INFO, by=orders)
    assert (answer.remark or "").startswith("User:orders is not found.")


def test_only_a_super_user_makes_or_changes_one() -> None:
    broker = opened()
    made = ask(
        broker, Code.AUTH_CREATE_USER, {**ORDERS, "userType": "Super"}, OPERATOR, username="x"
    )
    assert made.code == ResponseCode.SYSTEM_ERROR
    assert made.remark == "The super user can only be create by super user"
    raised = ask(
        broker, Code.AUTH_UPDATE_USER, {"userType": "super"}, OPERATOR, username="operator"
    )
    assert raised.code == ResponseCode.SYSTEM_ERROR
    changed = ask(broker, Code.AUTH_UPDATE_USER, {"password": "mine"}, OPERATOR, username="root")
    assert changed.code == ResponseCode.NO_PERMISSION
    deleted = ask(broker, Code.AUTH_DELETE_USER, by=OPERATOR, username="root")
    assert deleted.code == ResponseCode.NO_PERMISSION
    assert ask(broker, Code.GET_BROKER_RUNTIME_INFO).code == ResponseCode.SUCCESS


def test_policies_count_at_once_and_are_shown_as_java_shows_them() -> None:
    broker = opened()
    create(broker, "orders")
    permit(broker, "orders", "Topic:Orders*", ["Pub", "sub"])
    answer = ask(broker, Code.AUTH_GET_ACL, subject="User:orders")
    assert answer.body == (
        b'{"policies":[{"entries":[{"actions":["Pub","Sub"],"decision":"Allow",'
        b'"resource":"Topic:Orders*"}],"policyType":"Custom"}],"subject":"User:orders"}'
    )


def test_policies_are_listed_and_filtered() -> None:
    broker = opened()
    create(broker, "orders")
    permit(broker, "orders", "Topic:Orders", ["Pub"])
    permit(broker, "orders", "Group:Orders", ["Sub"])
    listed = body_of(ask(broker, Code.AUTH_LIST_ACL))
    assert [each["subject"] for each in listed] == ["User:operator", "User:orders"]
    found = body_of(ask(broker, Code.AUTH_LIST_ACL, resourceFilter="Group:"))
    assert [each["subject"] for each in found] == ["User:orders"]
    assert len(found[0]["policies"][0]["entries"]) == 1
    assert body_of(ask(broker, Code.AUTH_LIST_ACL, subjectFilter="nobody")) is None


def test_policies_are_deleted_one_by_one_or_all() -> None:
    broker = opened()
    create(broker, "orders")
    permit(broker, "orders", "Topic:A", ["Pub"])
    permit(broker, "orders", "Topic:B", ["Pub"])
    ask(broker, Code.AUTH_DELETE_ACL, resource="Topic:A", subject="User:orders")
    shown = body_of(ask(broker, Code.AUTH_GET_ACL, subject="User:orders"))
    assert [each["resource"] for each in shown["policies"][0]["entries"]] == ["Topic:B"]
    unclear = ask(broker, Code.AUTH_DELETE_ACL, resource="Queue:B", subject="User:orders")
    assert unclear.code == ResponseCode.SYSTEM_ERROR
    assert body_of(ask(broker, Code.AUTH_GET_ACL, subject="User:orders")) is not None
    ask(broker, Code.AUTH_DELETE_ACL, subject="User:orders")
    assert body_of(ask(broker, Code.AUTH_GET_ACL, subject="User:orders")) is None
    again = ask(broker, Code.AUTH_DELETE_ACL, subject="User:orders")
    assert again.code == ResponseCode.NO_PERMISSION
    assert (again.remark or "").startswith("The acl is not exist.")


def test_policies_of_an_unknown_user_are_refused() -> None:
    broker = opened()
    answer = permit(broker, "nobody", "Topic:A", ["Pub"])
    assert answer.code == ResponseCode.NO_PERMISSION
    assert (answer.remark or "").startswith("The subject of User:nobody is not exist.")
    answer = ask(broker, Code.AUTH_GET_ACL, subject="User:nobody")
    assert answer.remark == "The subject is not exist."


def test_change_that_the_disk_refuses_does_not_count() -> None:
    broker = opened()
    broker.files_are_stuck = True
    body = json.dumps(ORDERS).encode()
    command = signed(Command(Code.AUTH_CREATE_USER, ext={"username": "orders"}, body=body), ROOT)
    request = broker.send(Code.AUTH_CREATE_USER, ext=command.ext, body=body)
    assert broker.is_held(request)
    busy = ask(broker, Code.AUTH_CREATE_USER, ORDERS, username="billing")
    assert busy.code == ResponseCode.SYSTEM_BUSY
    broker.write(broker.unwritten[0], "No space left on device")
    broker.settle()
    answer = broker.answer(request)
    assert answer is not None
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "nothing was changed: No space left on device",
    )
    assert body_of(ask(broker, Code.AUTH_GET_USER, username="orders")) is None


def test_without_authentication_there_are_no_users() -> None:
    broker = OpenedBroker()
    answer = ask(broker, Code.AUTH_CREATE_USER, ORDERS, None, username="orders")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "authenticationEnabled=true" in (answer.remark or "")


def test_member_takes_the_users_of_its_master() -> None:
    master, member = opened(), opened()
    create(master, "orders")
    table = master.broker.tables()[USERS]
    member.broker.take_table(USERS, table, 0.0, 0)
    assert body_of(ask(member, Code.AUTH_GET_USER, username="orders")) is not None


def test_settings_show_no_secret() -> None:
    answer = ask(opened(), Code.GET_BROKER_CONFIG)
    assert answer.code == ResponseCode.SUCCESS
    assert b"root-secret" not in answer.body


def test_sends_do_not_go_straight_into_the_store() -> None:
    assert opened().state.kernel is None


def test_bodies_with_too_many_values_are_refused_before_they_are_understood() -> None:
    broker = opened()
    create(broker, "orders")
    entries = [{"resource": f"Topic:x-{number}", "actions": ["Pub"]} for number in range(10_000)]
    body = {"subject": "User:orders", "policies": [{"entries": entries}]}
    answer = ask(broker, Code.AUTH_CREATE_ACL, body, subject="User:orders")
    assert "JSON of more than" in (answer.remark or "")
    answer = ask(broker, Code.AUTH_UPDATE_USER, {"more": [0] * 2_000}, username="orders")
    assert "JSON of more than" in (answer.remark or "")
