"""Quotas of accounts: the account that signed a request pays, and no other."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.quotas import REQUESTS, limit, quota
from gantrymq.fakes.brokers.sends import add_topic, message
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


# ---------------------------------------------------------------------- kinds of accounts


@dataclass(frozen=True)
class Kind:
    """A way for a client to be an account, at a broker that knows it as `billing`."""

    settings: BrokerSettings
    signs: bool
    """Whether it signs its requests, rather than show a certificate."""
    is_user: bool
    """Whether users.json has the account, rather than plain_acl.yml."""


CERTIFICATES = "CN:billing-service=billing;CN:reports-service=reports"
KINDS = {
    "account of plain_acl.yml": Kind(BrokerSettings(acl_enable=True), True, False),
    "user": Kind(BrokerSettings(authentication_enabled=True), True, True),
    "certificate of an account": Kind(
        BrokerSettings(acl_enable=True, client_cert_accounts=CERTIFICATES), False, False
    ),
    "certificate of a user": Kind(
        BrokerSettings(authentication_enabled=True, client_cert_accounts=CERTIFICATES), False, True
    ),
}


def opened(kind: Kind) -> OpenedBroker:
    first = json.dumps({"username": "billing", "password": "12345678"})
    settings = kind.settings
    if kind.is_user:
        settings = replace(settings, init_authentication_user=first)
    broker = OpenedBroker(settings)
    if kind.is_user:
        asked = signed(
            Command(
                RequestCode.AUTH_CREATE_USER,
                ext={"username": "reports"},
                body=json.dumps({"password": "12345678"}).encode(),
            ),
            Credentials("billing", "12345678"),
        )
        answer = broker.ask(RequestCode.AUTH_CREATE_USER, ext=asked.ext, body=asked.body)
        assert answer.code == ResponseCode.SUCCESS, answer.remark
    else:
        broker.state.access.replace(RULES)
    add_topic(broker)
    return broker


def connected(kind: Kind, account: str) -> FakeChannel:
    channel = FakeChannel()
    if not kind.signs:
        channel.certificate_names = (f"CN:{account}-service",)
    return channel


def sent(broker: OpenedBroker, kind: Kind, account: str, channel: FakeChannel) -> int:
    if kind.signs:
        return send(broker, account, channel=channel).code
    return broker.ask(SEND, message(), b"hello", channel=channel).code


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_each_kind_of_account_is_the_user_of_the_quota(kind: Kind) -> None:
    broker = opened(kind)
    limit(broker, quota(QuotaKind.USER, "billing", {REQUESTS: 10}))
    busy, other = connected(kind, "billing"), connected(kind, "reports")
    codes = [sent(broker, kind, "billing", busy) for _ in range(40)]
    assert codes[0] == ResponseCode.SUCCESS
    assert codes[-1] == ResponseCode.SYSTEM_BUSY
    assert busy.delays[-1] == 1.0
    assert {sent(broker, kind, "reports", other) for _ in range(40)} == {ResponseCode.SUCCESS}
    assert other.delays == []
    assert [(use.kind, use.name) for use in broker.state.quotas.use()] == [
        (QuotaKind.USER, "billing")
    ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_connections_of_one_account_share_its_quota(kind: Kind) -> None:
    broker = opened(kind)
    limit(broker, quota(QuotaKind.USER, "*", {REQUESTS: 10}))
    for _ in range(40):
        sent(broker, kind, "billing", connected(kind, "billing"))
    last = connected(kind, "billing")
    assert sent(broker, kind, "billing", last) == ResponseCode.SYSTEM_BUSY


def test_address_that_needs_no_account_has_no_quota_of_accounts_that_it_makes_up() -> None:
    broker = OpenedBroker(BrokerSettings(acl_enable=True))
    broker.state.access.replace(plain_acl.read(b"globalWhiteRemoteAddresses: [127.0.0.1]"))
    add_topic(broker)
    limit(broker, quota(QuotaKind.USER, "*", {REQUESTS: 10}))
    for number in range(40):
        assert send(broker, f"made-up-{number}").code == ResponseCode.SUCCESS
    assert broker.state.quotas.use() == []


def _forged() -> dict[str, str]:
    made = Command(SEND, ext=message().encode(), body=b"hello")
    ext = signed(made, Credentials("billing", "wrong-secret")).ext
    assert ext is not None
    return dict(ext)


def test_requests_that_access_control_refuses_do_not_add_to_the_debt_for_ever() -> None:
    broker = guarded()
    limit(broker, quota(QuotaKind.ADDRESS, "*", {REQUESTS: 10}))
    for _ in range(1_000):
        broker.ask(SEND, message(), b"unsigned")
    broker.pass_time(2.0)
    assert send(broker, "billing").code == ResponseCode.SUCCESS
