"""Tests that each change leaves an audit entry with the values before and after."""

from __future__ import annotations

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.audit.actions import ACTIONS
from gantrymq.audit.record import AuditOutcome, AuditRecord
from gantrymq.fakes.brokers.namesrv import Broker, Desk
from gantrymq.namesrv.core.requests import REQUESTS
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code


def ask(desk: Desk, code: Code, ext: dict[str, str], body: bytes = b"") -> AuditRecord:
    """The one entry that the request left."""
    before = len(desk.audited)
    desk.ask(code, ext, body)
    assert len(desk.audited) == before + 1
    return desk.audited[-1]


def test_values_of_kv_configuration_are_hidden() -> None:
    desk, item = Desk(), {"namespace": "n", "key": "k"}
    made = ask(desk, Code.PUT_KV_CONFIG, {**item, "value": "hidden"})
    assert (made.action, made.outcome) == ("kv.put", AuditOutcome.DONE)
    assert (made.old, made.new) == ({"n k": None}, {"n k": "6 characters"})
    deleted = ask(desk, Code.DELETE_KV_CONFIG, item)
    assert (deleted.old, deleted.new) == (made.new, made.old)


def test_the_queues_of_ordered_topics_are_shown() -> None:
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "a:4"}
    assert ask(Desk(), Code.PUT_KV_CONFIG, item).new == {"ORDER_TOPIC_CONFIG T": "a:4"}


def test_settings_are_told_by_key() -> None:
    made = ask(Desk(), Code.UPDATE_NAMESRV_CONFIG, {}, b"orderMessageEnable=true")
    assert made.old == {"orderMessageEnable": "false"}
    assert made.new == {"orderMessageEnable": "true"}


def test_a_change_that_could_not_be_saved_failed() -> None:
    desk = Desk()
    desk.disk_failure = "no space left"
    made = ask(desk, Code.UPDATE_NAMESRV_CONFIG, {}, b"orderMessageEnable=true")
    assert (made.outcome, made.new) == (AuditOutcome.FAILED, {"orderMessageEnable": "false"})
    assert "no space left" in made.reason


def test_brokers_and_topics_that_are_taken_off() -> None:
    desk, broker = Desk(), Broker()
    desk.ask(Code.REGISTER_BROKER, broker.header(), broker.body().encode())
    assert not desk.audited
    name, topic = broker.header()["brokerName"], next(iter(desk.core.state.routes.topics))
    made = ask(desk, Code.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
    assert (made.old, made.new) == ({topic: [name]}, {topic: None})
    made = ask(desk, Code.UNREGISTER_BROKER, broker.header())
    assert made.old == {name: [broker.header()["brokerAddr"]]}
    assert made.new == {name: None}


def test_a_refused_attempt_leaves_an_entry() -> None:
    desk = Desk(NameServerSettings(acl_enable=True))
    assert desk.core.guard is not None
    rules = b"accounts: [{accessKey: a-client, secretKey: 12345678}]"
    desk.core.guard.replace(plain_acl.read(rules))
    made = ask(desk, Code.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"})
    assert (made.outcome, made.objects) == (AuditOutcome.REFUSED, ("T",))
    desk.ask(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert len(desk.audited) == 1


@pytest.mark.parametrize("code", sorted({*ACTIONS} & {*REQUESTS}))
def test_every_audited_request_leaves_one_entry_even_without_fields(code: int) -> None:
    desk = Desk()
    desk.ask(code, {})
    assert [record.request for record in desk.audited] == [code]
