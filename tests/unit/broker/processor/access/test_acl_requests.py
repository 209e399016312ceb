"""Tests which requests show, change and refuse to change the accounts of a broker."""

from __future__ import annotations

import json

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.rights.rights import Right
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.broker.core.messages import Answer, File, Reply, Request, SaveFile
from gantrymq.broker.core.processor.access.acl_requests import (
    DELETE_FAILED,
    UPDATE_FAILED,
    WHITE_LIST_FAILED,
)
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.access.accounts import (
    A_CLIENT,
    ADMIN,
    CHANGES,
    PATH,
    RULES,
    account,
    ask,
    ask_as,
    guarded,
)
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

READS = [Code.GET_BROKER_CLUSTER_ACL_INFO, Code.GET_BROKER_CLUSTER_ACL_CONFIG]


def test_a_new_account_counts_when_the_file_has_it() -> None:
    broker = guarded()
    asked = {"accessKey": "newcomer", "secretKey": "87654321", "topicPerms": "A=PUB,B=PUB|SUB"}
    answer = ask(broker, 50, **asked, groupPerms="G=SUB", admin="false", defaultTopicPerm="SUB")
    assert (answer.code, answer.remark) == (0, None)
    newcomer = account(broker, "newcomer")
    assert newcomer.topic_perms == {"A": Right.PUB, "B": Right.PUB | Right.SUB}
    assert newcomer.default_topic_perm is Right.SUB
    written = plain_acl.read(broker.saved[File.ACL])
    assert written.accounts["newcomer"] == newcomer
    assert (written.version.counter, written.version.timestamp_ms) == (5, START_MS)
    newcomers = Credentials("newcomer", "87654321")
    assert "Need admin" in (ask_as(newcomers, broker, 17, {"topic": "T"}).remark or "")
    assert ask_as(newcomers, broker, Code.GET_BROKER_CONFIG, {}).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(("code", "ext", "failure"), CHANGES)
def test_accounts_that_come_from_elsewhere_are_not_changed_and_the_refusal_says_where_to(
    code: int, ext: dict[str, str], failure: int
) -> None:
    settings = BrokerSettings(acl_enable=True, acl_file=PATH, acl_file_read_only=True)
    broker = OpenedBroker(settings)
    broker.state.access.replace(plain_acl.read(RULES))
    answer = ask(broker, code, **ext)
    assert answer.code == failure
    assert "aclFileReadOnly=true" in (answer.remark or "")
    assert File.ACL not in broker.saved


def test_an_update_leaves_the_rest_of_an_account() -> None:
    broker = guarded()
    ask(broker, 50, accessKey="a-client", whiteRemoteAddress="10.1.*.*")
    a_client = account(broker, "a-client")
    assert a_client.white_remote_address.text == "10.1.*.*"
    assert a_client.topic_perms == {"T": Right.PUB}
    ask(broker, 50, accessKey="a-client", secretKey="another-one", topicPerms="")
    assert account(broker, "a-client").topic_perms == {}
    assert account(broker, "a-client").default_group_perm is Right.SUB


@pytest.mark.parametrize(
    ("ext", "begin"),
    [
        ({"accessKey": "newcomer"}, "The accessKey=newcomer and secretKey cannot be null"),
        ({"accessKey": "short", "secretKey": "12345678"}, "The accessKey=short and secretKey"),
        ({"accessKey": "a-client", "topicPerms": "T"}, "Parse Resource format error for T."),
        (
            {"accessKey": "a-client", "groupPerms": "G=ALL"},
            "Parse resource permission error for ALL",
        ),
        (
            {"accessKey": "a-client", "defaultTopicPerm": "x"},
            "Parse resource permission error for x",
        ),
        ({"accessKey": "a-client", "whiteRemoteAddress": "x"}, "Netaddress examine Exception"),
    ],
)
def test_what_cannot_be_is_refused_as_a_whole(ext: dict[str, str], begin: str) -> None:
    broker = guarded()
    answer = ask(broker, 50, **ext)
    assert answer.code == UPDATE_FAILED
    assert (answer.remark or "").startswith(begin)
    assert File.ACL not in broker.saved


def test_an_account_is_deleted_once() -> None:
    broker = guarded()
    assert ask(broker, 51, accessKey="a-client").code == 0
    assert list(plain_acl.read(broker.saved[File.ACL]).accounts) == ["the-admin"]
    again = ask(broker, 51, accessKey="a-client")
    assert again.code == DELETE_FAILED
    assert (again.remark or "").startswith(
        "The accessKey[a-client] corresponding to accessConfig has been deleted failed."
    )


def test_the_global_list_is_replaced() -> None:
    broker = guarded()
    assert broker.ask(Code.GET_MAX_OFFSET).code == ResponseCode.SYSTEM_ERROR
    ask(broker, 53, globalWhiteAddrs="127.0.0.{1,2},10.1.*.*", aclFileFullPath="")
    written = plain_acl.read(broker.saved[File.ACL])
    assert [each.text for each in written.global_white] == ["127.0.0.{1,2}", "10.1.*.*"]
    assert broker.ask(Code.GET_BROKER_CONFIG).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    "ext",
    [
        {"globalWhiteAddrs": "10.1.*.*", "aclFileFullPath": "/etc/passwd"},
        {"globalWhiteAddrs": "10.1.*", "aclFileFullPath": PATH},
    ],
)
def test_a_list_that_cannot_be_is_refused(ext: dict[str, str]) -> None:
    broker = guarded()
    assert ask(broker, 53, **ext).code == WHITE_LIST_FAILED
    assert File.ACL not in broker.saved


def test_versions_are_shown() -> None:
    ext = ask(guarded(), 52).ext or {}
    version = {"counter": 4, "stateVersion": 0, "timestamp": 1600000000000}
    assert json.loads(ext["version"]) == version
    assert json.loads(ext["allAclFileVersion"]) == {PATH: version}
    assert (ext["brokerName"], ext["clusterName"]) == ("broker-a", "DefaultCluster")


def test_accounts_are_shown() -> None:
    shown = json.loads(ask(guarded(), 54).body)
    assert shown["globalWhiteAddrs"] == []
    assert shown["plainAccessConfigs"][1] == {
        "accessKey": "a-client",
        "admin": False,
        "defaultGroupPerm": "SUB",
        "defaultTopicPerm": "DENY",
        "groupPerms": [],
        "topicPerms": ["T=PUB"],
        "whiteRemoteAddress": "",
    }


@pytest.mark.parametrize(("code", "ext"), [change[:2] for change in CHANGES])
def test_only_an_administrator_changes_accounts(code: Code, ext: dict[str, str]) -> None:
    """In Java every account may change accounts, and make itself an administrator."""
    broker = guarded()
    answer = ask_as(A_CLIENT, broker, code, ext)
    assert "Need admin permission" in (answer.remark or "")
    assert File.ACL not in broker.saved


def test_answers_show_no_secret() -> None:
    assert b"12345678" not in ask(guarded(), 54).body


def test_old_secret_ends_with_an_update_unless_the_update_says_otherwise() -> None:
    broker = guarded()
    ask(broker, 50, accessKey="a-client", secretKey="another-one", oldSecretSeconds="60")
    newer = Credentials("a-client", "another-one")
    for by in (A_CLIENT, newer):
        assert ask_as(by, broker, Code.GET_BROKER_CONFIG, {}).code == ResponseCode.SUCCESS
    assert plain_acl.read(broker.saved[File.ACL]).accounts["a-client"].old_key is not None
    broker.now = 60.0
    assert ask_as(A_CLIENT, broker, Code.GET_BROKER_CONFIG, {}).code != ResponseCode.SUCCESS
    ask(broker, 50, accessKey="a-client", secretKey="a-third-one")
    assert account(broker, "a-client").old_key is None
    assert ask_as(newer, broker, Code.GET_BROKER_CONFIG, {}).code != ResponseCode.SUCCESS


def test_old_secret_is_removed_by_request() -> None:
    broker = guarded()
    ask(broker, 50, accessKey="a-client", secretKey="another-one", oldSecretSeconds="-1")
    assert account(broker, "a-client").old_key is not None
    ask(broker, 50, accessKey="a-client", topicPerms="T=PUB")
    assert account(broker, "a-client").old_key is not None
    ask(broker, 50, accessKey="a-client", oldSecretSeconds="0")
    assert account(broker, "a-client").old_key is None


@pytest.mark.parametrize("seconds", ["x", "-2", "99999999999"])
def test_old_secret_cannot_stay_for_years(seconds: str) -> None:
    answer = ask(
        guarded(), 50, accessKey="a-client", secretKey="another-one", oldSecretSeconds=seconds
    )
    assert answer.code == UPDATE_FAILED


def test_only_an_administrator_sees_accounts() -> None:
    answer = ask_as(A_CLIENT, guarded(), 54, {})
    assert (answer.code, answer.body) == (ResponseCode.SYSTEM_ERROR, b"")


@pytest.mark.parametrize(("code", "ext", "failed"), CHANGES)
def test_a_file_that_cannot_be_written_changes_nothing(
    code: Code, ext: dict[str, str], failed: int
) -> None:
    broker = guarded()
    state, core = broker.state, broker.broker
    before = state.access.guard
    assert before is not None
    rules = before.rules
    broker.settle()
    request = Request(signed(Command(code, ext=dict(ext)), ADMIN), broker.channel)
    core.handle(request, 0.0, START_MS)
    core.turn(0.0, START_MS)
    assert [effect.file for effect in core.take_effects() if isinstance(effect, SaveFile)] == [
        File.ACL
    ]
    other = core.handle(request, 0.0, START_MS)
    assert isinstance(other, Reply)
    assert other.command.code == ResponseCode.SYSTEM_BUSY  # one at a time
    core.written(File.ACL, "disk full", 0.0, START_MS)
    [answer] = [effect for effect in core.take_effects() if isinstance(effect, Answer)]
    assert answer.command.code == failed
    assert "disk full" in (answer.command.remark or "")
    assert before.rules is rules
    broker.pass_time(10.0)
    assert File.ACL not in broker.saved, "it is not tried again in the background"


@pytest.mark.parametrize(
    ("code", "ext"), [*[each[:2] for each in CHANGES], *[(c, {}) for c in READS]]
)
def test_without_access_control_there_is_nothing_to_change(code: Code, ext: dict[str, str]) -> None:
    answer = OpenedBroker().ask(code, ext=ext)
    assert "set aclEnable=true" in (answer.remark or "")
