"""Tests that addresses and requests are admitted as by the access control of Java's broker.

Gantry differs on purpose and admits less: every place of an address pattern counts; a group's retry
topic is its own; batches, replies, changes of accounts, offsets, locks and files need rights. It
also admits some that Java fails at: see DIFFERENT_PATTERNS.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.white_list import AddressPattern, places_of
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.interop.clients.drivers import Driver
from gantrymq.interop.releases import OLDEST
from gantrymq.interop.toolchain import JarSet
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PREFIX = "org.apache.rocketmq.acl.common.AclException: "
PATTERNS = (
    *("*", "*.*.*.*", "*:*:*:*:*:*:*:*", "", " ", "10.1.*.*", "10.*.*.*", "192.168.0.*"),
    *("192.168.0.{1,2}", "192.168.{0,1}.1", "192.168.0.1,192.168.0.2", "10.10.1-5.*"),
    *("192.168.0.1-10", "192.168.0.10-1", "192.168.0.1-300", "192.168.0.256", "192.168.0"),
    *("10.*", "localhost", "::1", "0:0:0:0:0:0:0:1", "AC::*", "ac::{1,2}", "2001:db8::*"),
    *("2001:db8:0:0:0:0:0:*", "2001:1-f:*", "::1,::2", "1.2.3.4/24", "192.168.-5.1"),
    *("192.168.0.5-", "AC::{1,g}", "192.168.0.01", "AC:1:*", "AC:0:0:0:0:0:0:1-5"),
)
# The pattern, and the ADDRESSES that it admits here; Java admits more, or refuses the pattern.
DIFFERENT_PATTERNS = {
    "10.*.3.4": {"10.9.3.4"},
    "10.1.*.5": {"10.1.2.5"},
    "10.1-2.3-4.5": set[str](),
    "*.1.2.3": {"1.1.2.3", "10.1.2.3"},
    "10.1.1-2.*,10.9.9.9": {"10.1.2.3", "10.1.2.5", "10.9.9.9"},
    "192.168.0.0-0": {"192.168.0.0"},
    "fe80::*": set[str](),
    "AC::1-5": {"AC:0:0:0:0:0:0:3", "ac::1"},
}  # fmt: skip
ADDRESSES = (
    *("10.1.2.3", "10.9.3.4", "10.9.9.9", "192.168.0.0", "192.168.0.1", "192.168.0.2"),
    *("192.168.0.5", "192.168.1.1", "10.10.3.7", "10.10.6.8", "1.1.2.3", "10.1.2.5"),
    *("::1", "::2", "AC:0:0:0:0:0:0:3", "ac::1", "ac:1::1", "2001:db8::9", "2001:1:2:3:4:5:6:7"),
    *("2001:db8:0:0:0:0:0:5", "fe80::1:2"),
)

RULES = """\
globalWhiteRemoteAddresses:
- 10.9.9.*
accounts:
- accessKey: nothing-at-all
  secretKey: 12345678
- accessKey: sender-of-A
  secretKey: 12345678
  whiteRemoteAddress: 10.8.8.8
  topicPerms: [A=PUB, B=SUB]
  groupPerms: [G=DENY]
- accessKey: receiver-of-A
  secretKey: 12345678
  defaultGroupPerm: SUB
  topicPerms: [A=SUB]
  groupPerms: [H=DENY, I=PUB]
- accessKey: everything
  secretKey: 12345678
  defaultTopicPerm: PUB|SUB
  defaultGroupPerm: SUB|PUB
- accessKey: administrator
  secretKey: 12345678
  admin: true
- accessKey: bound-administrator
  secretKey: 12345678
  admin: true
  topicPerms: [A=SUB, '%RETRY%G=SUB']
- accessKey: sloppy-rights
  secretKey: 12345678
  defaultTopicPerm: ANY
  defaultGroupPerm: sub
"""
ACCOUNTS = (
    *("nothing-at-all", "sender-of-A", "receiver-of-A", "everything", "administrator"),
    *("bound-administrator", "sloppy-rights", "unknown-client"),
)


def heartbeat(group: str, topic: str) -> str:
    subscription = {"topic": topic, "subString": "*", "subVersion": 1}
    consumer = {"groupName": group, "subscriptionDataSet": [subscription]}
    return json.dumps({"clientID": "c", "consumerDataSet": [consumer], "producerDataSet": []})


def asked(topic: str, group: str) -> list[tuple[int, dict[str, str], str]]:
    """Requests of each kind that Java knows."""
    both = {"topic": topic, "consumerGroup": group}
    offset = {**both, "queueId": "0", "commitOffset": "1"}
    unregister = {"clientID": "c", "consumerGroup": group}
    plain = {"topic": topic, "queueId": "0"}
    return [
        (Code.SEND_MESSAGE, {"topic": topic, "producerGroup": "P"}, "body"),
        (Code.SEND_MESSAGE_V2, {"a": "P", "b": topic, "i": "KEYSk"}, "body"),
        (Code.PULL_MESSAGE, both, ""),
        (Code.QUERY_MESSAGE, {"topic": topic, "key": "k"}, ""),
        (Code.UPDATE_CONSUMER_OFFSET, offset, ""),
        (Code.HEART_BEAT, {}, heartbeat(group, topic)),
        (Code.UNREGISTER_CLIENT, unregister, ""),
        (Code.UNREGISTER_CLIENT, {"clientID": "c", "producerGroup": "P"}, ""),
        (Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}, ""),
        (Code.CONSUMER_SEND_MSG_BACK, {"group": group, "offset": "1", "delayLevel": "0"}, ""),
        (Code.GET_MAX_OFFSET, plain, ""),
        (Code.UPDATE_AND_CREATE_TOPIC, plain, ""),
        (Code.DELETE_TOPIC_IN_BROKER, plain, ""),
        (Code.UPDATE_BROKER_CONFIG, {}, "a=b"),
        (Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, "{}"),
        (Code.DELETE_SUBSCRIPTIONGROUP, {"groupName": group}, ""),
        (Code.END_TRANSACTION, {"producerGroup": "P"}, ""),
    ]


def orders() -> Iterator[dict[str, object]]:
    """Requests of each account for everything, correctly signed, and some with wrong signatures."""
    kinds = [
        *(one for topic, group in product("ABC", "GHI") for one in asked(topic, group)),
        *asked("RMQ_SYS_TRACE_TOPIC", "G")[:3],
        (Code.PULL_MESSAGE, {"topic": "%RETRY%G", "consumerGroup": "G"}, ""),
        (Code.PULL_MESSAGE, {"topic": "%RETRY%H", "consumerGroup": "G"}, ""),
        (Code.HEART_BEAT, {}, heartbeat("G", "%RETRY%G")),
    ]
    for account, (code, ext, body) in product(ACCOUNTS, kinds):
        fields = {**ext, "AccessKey": account}
        yield {
            "code": code,
            "ext": fields,
            "body": body,
            "peer": "10.1.1.1:5",
            "secret": "12345678",
        }
    for peer, secret, account in product(
        ("10.9.9.1:5", "10.8.8.8:5", "10.1.1.1:5"), ("12345678", "87654321", None), ACCOUNTS
    ):
        fields = {"topic": "C", "AccessKey": account}
        yield {"code": 10, "ext": fields, "body": "é", "peer": peer, "secret": secret}
    yield {"code": 10, "ext": {"topic": "A"}, "body": "", "peer": "10.1.1.1:5"}
    yield {"code": 10, "body": "", "peer": "10.1.1.1:5"}
    yield {"code": 28, "body": "", "peer": "10.9.9.1:5"}


@pytest.fixture(scope="module")
def java(folder: Callable[[str], Path]) -> Iterator[Driver]:
    with Driver(JarSet.ACL, OLDEST, folder("acl")) as driver:
        yield driver


def let_in(text: str) -> set[str] | None:
    """The addresses that Gantry admits; None if it refuses the pattern."""
    try:
        pattern = AddressPattern.parse(text)
    except ValueError:
        return None
    return {each for each in ADDRESSES if pattern.matches(places_of(f"[{each}]:5"))}


def chosen(answer: list[bool]) -> set[str]:
    return {address for address, is_in in zip(ADDRESSES, answer, strict=True) if is_in}


def test_addresses_are_admitted_as_by_java(java: Driver) -> None:
    java.order({"patterns": [*PATTERNS, *DIFFERENT_PATTERNS], "addresses": ADDRESSES})
    answers = java.outcome()["answers"]
    assert isinstance(answers, list)
    theirs = [None if answer is None else chosen(answer) for answer in answers]
    count = len(PATTERNS)
    assert dict(zip(PATTERNS, theirs[:count], strict=True)) == {
        text: let_in(text) for text in PATTERNS
    }
    assert {text: let_in(text) for text in DIFFERENT_PATTERNS} == DIFFERENT_PATTERNS
    assert all(
        one != ours for one, ours in zip(theirs[count:], DIFFERENT_PATTERNS.values(), strict=True)
    )


def test_requests_are_admitted_as_by_java(java: Driver, folder: Callable[[str], Path]) -> None:
    home = folder("acl-home")
    (home / "conf").mkdir()
    (home / "conf" / "plain_acl.yml").write_text(RULES)
    all_orders = list(orders())
    java.order({"home": str(home), "requests": all_orders})
    answers = java.outcome()["answers"]
    assert isinstance(answers, list)
    guard = Guard(plain_acl.read(RULES.encode()), BROKER_REQUESTS)
    different = []
    for order, theirs in zip(all_orders, answers, strict=True):
        ours = refusal(guard, order)
        if not is_same(theirs, ours):
            different.append((order, theirs, ours))
    assert sum(answer is None for answer in answers) > len(answers) // 4
    assert sum(answer is not None for answer in answers) > len(answers) // 4
    assert not different, different[:10]


def is_same(theirs: str | None, ours: str | None) -> bool:
    """Java names any one of several topics and groups."""
    if theirs is None or ours is None:
        return theirs is ours
    return ours.startswith(PREFIX + theirs.partition(" for topic:")[0].partition(" for group:")[0])


def refusal(guard: Guard, order: dict[str, object]) -> str | None:
    ext, code = order.get("ext"), order["code"]
    assert isinstance(code, int)
    fields = {str(key): str(value) for key, value in ext.items()} if isinstance(ext, dict) else None
    command = Command(code, ext=fields, body=str(order["body"]).encode())
    if order.get("secret") is not None:
        command = signed(command, Credentials((fields or {})["AccessKey"], str(order["secret"])))
    refused = guard.check(command, Caller(str(order["peer"])))
    return None if refused is None else refused.remark
