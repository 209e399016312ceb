"""Tests a name server with access control, which Java lacks."""

from __future__ import annotations

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.acl.signature_throttle import FREE_FAILURES
from gantrymq.fakes.brokers.namesrv import Broker, Desk
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

RULES = plain_acl.read(b"""\
accounts:
- {accessKey: a-broker, secretKey: 12345678, admin: true}
- {accessKey: a-client, secretKey: 12345678}
""")
BROKER = Credentials("a-broker", "12345678")
CLIENT = Credentials("a-client", "12345678")


def guarded() -> Desk:
    desk = Desk(NameServerSettings(acl_enable=True))
    assert desk.core.guard is not None
    desk.core.guard.replace(RULES)
    return desk


def ask(
    desk: Desk, by: Credentials | None, code: int, ext: dict[str, str], body: bytes = b""
) -> Command:
    command = Command(code, ext=ext, body=body)
    sent = command if by is None else signed(command, by)
    return desk.ask(code, sent.ext, body)


def test_brokers_register_and_clients_find_them() -> None:
    desk, broker = guarded(), Broker()
    body = broker.body().encode()
    for stranger in (None, CLIENT):
        assert ask(desk, stranger, Code.REGISTER_BROKER, broker.header(), body).code == 1
    assert ask(desk, CLIENT, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == 17
    assert ask(desk, BROKER, Code.REGISTER_BROKER, broker.header(), body).code == 0
    assert ask(desk, CLIENT, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == 0
    refused = ask(desk, None, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert (refused.code, refused.body) == (1, b"")
    assert "No accessKey is configured" in (refused.remark or "")
    assert any("refused request code=105" in line for line in desk.lines)


def test_refusals_are_counted() -> None:
    desk = guarded()
    ask(desk, None, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert desk.core.counters.requests == {(105, 1): 1}


def test_without_rules_no_client_is_admitted() -> None:
    desk = Desk(NameServerSettings(acl_enable=True))
    assert ask(desk, BROKER, Code.GET_BROKER_CLUSTER_INFO, {}).code == 1


def test_no_request_switches_it_off() -> None:
    desk = guarded()
    answer = ask(desk, BROKER, Code.UPDATE_NAMESRV_CONFIG, {}, b"aclEnable=false")
    assert answer.code == 16
    assert ask(desk, None, Code.GET_BROKER_CLUSTER_INFO, {}).code == 1


def test_wrong_signatures_make_a_connection_wait() -> None:
    desk, wrong = guarded(), Credentials("a-client", "87654321")
    for _ in range(FREE_FAILURES + 1):
        ask(desk, wrong, Code.GET_BROKER_CLUSTER_INFO, {})
    refused = ask(desk, CLIENT, Code.GET_BROKER_CLUSTER_INFO, {})
    assert "it was not checked" in (refused.remark or "")
