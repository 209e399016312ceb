"""Tests which requests a guarded broker refuses, and that none passes the guard by."""

from __future__ import annotations

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.rights.refusal import AuthenticationFailure
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.acl.signature_throttle import FREE_FAILURES, LONGEST_SECONDS
from gantrymq.broker.core.messages import Silent
from gantrymq.broker.core.processor.requests import REQUEST_CODES
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageV2Request

PREFIX = "org.apache.rocketmq.acl.common.AclException: "
RULES = plain_acl.read(
    b"accounts:\n- {accessKey: sends-T, secretKey: 12345678, topicPerms: [T=PUB]}"
)
SENDER = Credentials("sends-T", "12345678")


def guarded() -> OpenedBroker:
    broker = OpenedBroker(BrokerSettings(acl_enable=True, auto_create_topic_enable=True))
    broker.state.access.replace(RULES)
    return broker


def send(broker: OpenedBroker, topic: str, by: Credentials | None = SENDER) -> Command:
    header = SendMessageV2Request(
        producer_group="P", topic=topic, default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=0, sys_flag=0, born_timestamp=1, flag=0,
    )  # fmt: skip
    command = Command(RequestCode.SEND_MESSAGE_V2, ext=header.encode(), body=b"hello")
    if by is not None:
        command = signed(command, by)
    return broker.ask(RequestCode.SEND_MESSAGE_V2, ext=command.ext, body=b"hello")


def test_account_with_the_right_to_send_sends() -> None:
    broker = guarded()
    assert send(broker, "T").code == ResponseCode.SUCCESS
    assert broker.bodies("T") == [b"hello"]


@pytest.mark.parametrize(
    ("topic", "by"),
    [("U", SENDER), ("T", None), ("T", Credentials("sends-T", "87654321"))],
)
def test_send_without_the_right_is_refused_and_creates_no_topic(
    topic: str, by: Credentials | None
) -> None:
    broker = guarded()
    answer = send(broker, topic, by)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith(PREFIX)
    assert broker.state.topics.find(topic) is None
    assert any(line.text.startswith("refused request code=310") for line in broker.lines)


@pytest.mark.parametrize("code", sorted(REQUEST_CODES))
def test_no_request_goes_around_the_guard(code: int) -> None:
    answer = guarded().ask(RequestCode(code))
    assert (answer.remark or "").startswith(PREFIX + "No accessKey is configured")


def test_a_oneway_request_is_refused_in_silence() -> None:
    broker = guarded()
    request = broker.send(RequestCode.UPDATE_CONSUMER_OFFSET, is_oneway=True)
    assert broker.answer(request) is None
    assert isinstance(broker.broker.handle(request, 0.0, 0), Silent)


def test_guard_without_rules_refuses_every_account() -> None:
    broker = OpenedBroker(BrokerSettings(acl_enable=True))
    assert "No acl config for sends-T" in (send(broker, "T").remark or "")


def test_wrong_signatures_make_a_connection_wait() -> None:
    broker = guarded()
    wrong = Credentials("sends-T", "87654321")
    for _ in range(FREE_FAILURES + 1):
        assert "Check signature failed" in (send(broker, "T", wrong).remark or "")
    assert "it was not checked" in (send(broker, "T").remark or "")
    assert broker.state.access.throttle.counts[AuthenticationFailure.THROTTLED] == 1
    broker.now += LONGEST_SECONDS
    assert send(broker, "T").code == ResponseCode.SUCCESS


def test_sends_do_not_go_straight_into_the_store() -> None:
    """The compiled kernel knows no accounts."""
    broker = guarded()
    assert broker.state.kernel is None
    assert OpenedBroker().state.kernel is not None


def test_broker_without_acl_refuses_no_request() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    assert send(broker, "T", None).code == ResponseCode.SUCCESS


def test_a_file_that_changed_counts_at_once() -> None:
    broker = guarded()
    assert send(broker, "U").code == ResponseCode.SYSTEM_ERROR
    broker.state.access.replace(
        plain_acl.read(b"accounts:\n- {accessKey: sends-T, secretKey: 12345678, admin: true}")
    )
    assert send(broker, "U").code == ResponseCode.SUCCESS
