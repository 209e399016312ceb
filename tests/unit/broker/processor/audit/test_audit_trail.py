"""A broker leaves an entry for each change, with the values before and after."""

from __future__ import annotations

import json

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.audit.actions import ACTIONS
from gantrymq.audit.record import AuditOutcome, AuditRecord
from gantrymq.audit.refused_attempts import ATTEMPTS_MAX
from gantrymq.broker.core.processor.requests import REQUEST_CODES
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import Json

RULES = plain_acl.read(b"""\
accounts:
- {accessKey: operator, secretKey: 12345678, admin: true}
- {accessKey: a-client, secretKey: 12345678}
""")
OPERATOR = Credentials("operator", "12345678")
CLIENT = Credentials("a-client", "12345678")
TOPIC = {
    "topic": "Orders", "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4",
    "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
}  # fmt: skip


def ask(
    broker: OpenedBroker,
    code: Code,
    ext: dict[str, str] | None = None,
    body: Json = None,
    by: Credentials | None = None,
) -> AuditRecord:
    """The one entry that the request left."""
    content = b"" if body is None else json.dumps(body).encode()
    command = Command(code, ext=dict(ext or {}), body=content)
    if by is not None:
        command = signed(command, by)
    before = len(broker.audited)
    broker.ask(code, ext=command.ext, body=content)
    assert len(broker.audited) == before + 1
    return broker.audited[-1]


def guarded() -> OpenedBroker:
    broker = OpenedBroker(BrokerSettings(acl_enable=True))
    broker.state.access.replace(RULES)
    return broker


def test_entry_names_the_account_that_a_certificate_stands_for() -> None:
    broker = OpenedBroker(
        BrokerSettings(
            acl_enable=True, authentication_enabled=True, client_cert_accounts="CN:ops=operator"
        )
    )
    broker.state.access.replace(RULES)
    channel = FakeChannel()
    channel.certificate_names = ("CN:ops", "DNS:ops.example")
    broker.ask(Code.UPDATE_AND_CREATE_TOPIC, ext=TOPIC, channel=channel)
    actor = broker.audited[-1].actor
    assert (actor.account, actor.certificate) == ("operator", "CN:ops")


def test_a_topic_is_made_changed_and_deleted() -> None:
    broker = OpenedBroker()
    made = ask(broker, Code.UPDATE_AND_CREATE_TOPIC, TOPIC)
    assert (made.action, made.outcome, made.objects) == (
        "topic.update", AuditOutcome.DONE, ("Orders",),
    )  # fmt: skip
    assert made.old == {"Orders": None}
    changed = ask(broker, Code.UPDATE_AND_CREATE_TOPIC, {**TOPIC, "perm": "4"})
    before, after = changed.old["Orders"], changed.new["Orders"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert (before["perm"], after["perm"]) == (6, 4)
    deleted = ask(broker, Code.DELETE_TOPIC_IN_BROKER, {"topic": "Orders"})
    assert (deleted.action, deleted.new) == ("topic.delete", {"Orders": None})
    assert deleted.old == {"Orders": after}


def test_a_list_of_topics_leaves_one_entry() -> None:
    topics: Json = [{"topicName": name} for name in ("Orders", "Bills")]
    made = ask(OpenedBroker(), Code.UPDATE_AND_CREATE_TOPIC_LIST, body={"topicConfigList": topics})
    assert made.objects == ("Orders", "Bills")
    assert all(made.new.values())


def test_entry_of_a_refused_change_has_the_reason() -> None:
    made = ask(OpenedBroker(), Code.UPDATE_AND_CREATE_TOPIC, {**TOPIC, "perm": "99"})
    assert made.outcome is AuditOutcome.FAILED
    assert "perm of topic[Orders] is 99" in made.reason
    assert made.new == {"Orders": None}


def test_a_request_that_makes_no_sense_leaves_an_entry() -> None:
    made = ask(OpenedBroker(), Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=[1])
    assert made.outcome is AuditOutcome.FAILED


def test_groups_are_made_and_deleted() -> None:
    broker = OpenedBroker()
    made = ask(broker, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body={"groupName": "G"})
    assert made.old == {"G": None}
    assert made.new["G"]
    deleted = ask(broker, Code.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G"})
    assert (deleted.old, deleted.new) == (made.new, {"G": None})


def test_entry_of_an_offset_reset_lists_the_queues() -> None:
    broker = OpenedBroker()
    ask(broker, Code.UPDATE_AND_CREATE_TOPIC, {**TOPIC, "readQueueNums": "1"})
    ask(broker, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body={"groupName": "G"})
    broker.state.offsets.commit("G", "Orders", 0, 7)
    ext = {"topic": "Orders", "group": "G", "timestamp": "-1", "isForce": "true"}
    made = ask(broker, Code.INVOKE_BROKER_TO_RESET_OFFSET, ext)
    assert (made.action, made.outcome) == ("offsets.reset", AuditOutcome.DONE)
    assert (made.old, made.new) == ({"G@Orders": {"0": 7}}, {"G@Orders": {"0": 0}})


def test_entry_of_changed_settings_lists_the_keys() -> None:
    broker = OpenedBroker()
    before = len(broker.audited)
    broker.ask(Code.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=48\nbrokerPermission=4")
    made = broker.audited[before]
    assert made.old == {"fileReservedTime": "72", "brokerPermission": "6"}
    assert made.new == {"fileReservedTime": "48", "brokerPermission": "4"}


def test_entry_of_a_changed_account_hides_its_secret() -> None:
    broker = guarded()
    ext = {"accessKey": "billing", "secretKey": "a-new-secret", "admin": "false"}
    made = ask(broker, Code.UPDATE_AND_CREATE_ACL_CONFIG, ext, by=OPERATOR)
    assert (made.actor.account, made.actor.address) == ("operator", broker.channel.peer)
    again = ask(
        broker, Code.UPDATE_AND_CREATE_ACL_CONFIG, {**ext, "secretKey": "another-one"}, by=OPERATOR
    )
    assert isinstance(again.new["billing"], dict)
    assert again.new["billing"]["secretKey"] == "*** (changed)"
    assert not any(word in f"{made} {again}" for word in ("a-new-secret", "another-one"))


def test_a_refused_attempt_leaves_an_entry() -> None:
    made = ask(guarded(), Code.DELETE_TOPIC_IN_BROKER, {"topic": "Orders"}, by=CLIENT)
    assert (made.outcome, made.actor.account) == (AuditOutcome.REFUSED, "a-client")
    assert made.objects == ("Orders",)
    assert "Need admin permission" in made.reason


def test_wrong_signature_leaves_an_entry_for_any_request() -> None:
    wrong = Credentials("operator", "87654321")
    made = ask(guarded(), Code.GET_BROKER_CONFIG, by=wrong)
    assert (made.action, made.outcome) == ("authentication", AuditOutcome.REFUSED)


def test_refused_attempts_are_bounded_and_counted() -> None:
    broker = guarded()
    for _ in range(ATTEMPTS_MAX + 9):
        broker.ask(Code.DELETE_TOPIC_IN_BROKER, ext={"topic": "Orders"})
    assert len(broker.audited) == ATTEMPTS_MAX
    broker.now += 61.0
    made = ask(broker, Code.DELETE_TOPIC_IN_BROKER, {"topic": "Orders"})
    assert made.left_out == 9


def test_entry_has_an_account_only_if_accounts_are_checked() -> None:
    made = ask(OpenedBroker(), Code.UPDATE_AND_CREATE_TOPIC, TOPIC, by=OPERATOR)
    assert made.actor.account == ""


def test_requests_that_only_read_leave_no_entry() -> None:
    broker = OpenedBroker()
    for code in (Code.GET_BROKER_CONFIG, Code.GET_ALL_TOPIC_CONFIG):
        broker.ask(code)
    assert not broker.audited


@pytest.mark.parametrize("code", sorted({*ACTIONS} & {*REQUEST_CODES}))
def test_every_audited_request_leaves_one_entry_even_without_fields(code: int) -> None:
    broker = OpenedBroker()
    broker.ask(Code(code))
    assert [record.request for record in broker.audited] == [code]
