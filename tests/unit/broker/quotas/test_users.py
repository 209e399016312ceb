"""Quotas of accounts: the account that signed a request pays, and no other."""

from __future__ import annotations

import pytest

from gantrymq.acl import plain_acl
from gantrymq.acl.signature import Credentials, signed
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.quotas import REQUESTS, limit, quota
from gantrymq.fakes.sends import add_topic, message
from gantrymq.wire.bodies.quotas import QuotaKind
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SEND = RequestCode.SEND_MESSAGE_V2
RULES = plain_acl.read(
    b"accounts:\n"
    b"- {accessKey: billing, secretKey: 12345678, topicPerms: [T=PUB]}\n"
    b"- {accessKey: reports, secretKey: 12345678, topicPerms: [T=PUB]}"
)


def guarded() -> OpenedBroker:
    broker = OpenedBroker(BrokerSettings(acl_enable=True))
    broker.state.access.replace(RULES)
    add_topic(broker)
    limit(broker, quota(QuotaKind.USER, "*", {REQUESTS: 10}))
    return broker


def send(broker: OpenedBroker, account: str, *, channel: FakeChannel | None = None) -> Command:
    made = Command(SEND, ext=message().encode(), body=b"hello")
    ext = signed(made, Credentials(account, "12345678")).ext
    return broker.ask(SEND, ext=ext, body=b"hello", channel=channel)


def test_account_beyond_its_quota_waits_and_then_is_refused() -> None:
    broker = guarded()
    answers = [send(broker, "billing").code for _ in range(40)]
    assert answers[0] == ResponseCode.SUCCESS
    assert answers[-1] == ResponseCode.SYSTEM_BUSY
    assert broker.channel.delays[0] == pytest.approx(0.1)


def test_other_account_does_not_pay() -> None:
    broker, other = guarded(), FakeChannel()
    for _ in range(40):
        send(broker, "billing")
    assert send(broker, "reports", channel=other).code == ResponseCode.SUCCESS
    assert other.delays == []


def test_wrong_signature_does_not_use_up_the_quota_of_the_account_that_it_names() -> None:
    broker = guarded()
    for number in range(40):
        stranger = FakeChannel()
        stranger.peer = f"10.0.0.{number}:1"
        broker.send(SEND, ext=_forged(), body=b"hello", channel=stranger)
    assert broker.state.quotas.use() == []


def test_account_that_a_certificate_stands_for_pays_as_well() -> None:
    broker = OpenedBroker(
        BrokerSettings(
            acl_enable=True, authentication_enabled=True, client_cert_accounts="CN:billing=billing"
        )
    )
    broker.state.access.replace(RULES)
    add_topic(broker)
    limit(broker, quota(QuotaKind.USER, "billing", {REQUESTS: 10}))
    shown = FakeChannel()
    shown.certificate_names = ("CN:billing",)
    ext = message().encode()
    answers = [broker.ask(SEND, ext=ext, body=b"x", channel=shown).code for _ in range(40)]
    assert answers[0] == ResponseCode.SUCCESS
    assert answers[-1] == ResponseCode.SYSTEM_BUSY


def _forged() -> dict[str, str]:
    made = Command(SEND, ext=message().encode(), body=b"hello")
    ext = signed(made, Credentials("billing", "wrong-secret")).ext
    assert ext is not None
    return dict(ext)
