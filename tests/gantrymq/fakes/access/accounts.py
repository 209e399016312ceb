"""Provides a broker with an account file, and requests that administrators sign and send to it."""

from __future__ import annotations

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Account
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

PATH = "/etc/gantry/plain_acl.yml"
ADMIN = Credentials("the-admin", "12345678")
A_CLIENT = Credentials("a-client", "12345678")
RULES = b"""\
accounts:
- {accessKey: the-admin, secretKey: 12345678, admin: true}
- {accessKey: a-client, secretKey: 12345678, topicPerms: [T=PUB], defaultGroupPerm: SUB}
dataVersion: [{counter: 4, timestamp: 1600000000000}]
"""
CHANGES = [
    (Code.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "newcomer", "secretKey": "12345678"}, 209),
    (Code.DELETE_ACL_CONFIG, {"accessKey": "a-client"}, 210),
    (Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, {"globalWhiteAddrs": "10.1.*.*"}, 211),
]


def guarded() -> OpenedBroker:
    broker = OpenedBroker(BrokerSettings(acl_enable=True, acl_file=PATH))
    broker.state.access.replace(plain_acl.read(RULES))
    return broker


def ask(broker: OpenedBroker, code: int, **ext: str) -> Command:
    return ask_as(ADMIN, broker, code, ext)


def ask_as(by: Credentials, broker: OpenedBroker, code: int, ext: dict[str, str]) -> Command:
    return broker.ask(Code(code), ext=signed(Command(code, ext=ext), by).ext)


def account(broker: OpenedBroker, key: str) -> Account:
    guard = broker.state.access.guard
    assert guard is not None
    return guard.rules.accounts[key]
