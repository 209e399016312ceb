"""Tests which requests the guard admits; tests/interop/security asks Java's broker the same."""

from __future__ import annotations

import json

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import BROKER_REQUESTS, NAME_SERVER_REQUESTS, Plain
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.rights import Right, topic_need
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

PREFIX = "org.apache.rocketmq.acl.common.AclException: "
FAR = "10.1.1.1:40000"
SHARED_KEY = "12345678"
RULES = plain_acl.read(b"""\
globalWhiteRemoteAddresses: [10.9.9.*]
accounts:
- {accessKey: nothing, secretKey: 12345678, whiteRemoteAddress: 10.8.8.8}
- {accessKey: sends-T, secretKey: 12345678, topicPerms: [T=PUB]}
- {accessKey: takes-T-for-G, secretKey: 12345678, topicPerms: [T=SUB], groupPerms: [G=SUB]}
- {accessKey: all-topics, secretKey: 12345678, defaultTopicPerm: PUB|SUB}
- {accessKey: all-groups, secretKey: 12345678, defaultGroupPerm: SUB}
- {accessKey: retries-G, secretKey: 12345678, topicPerms: ['%RETRY%G=SUB']}
- {accessKey: the-admin, secretKey: 12345678, admin: true}
- {accessKey: bound-admin, secretKey: 12345678, admin: true, topicPerms: [T=PUB]}
""")
ALL = tuple(RULES.accounts)
CONSUMING = {"topic": "T", "consumerGroup": "G"}
HEARTBEAT = {
    "clientID": "c",
    "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [{"topic": "T"}]}],
    "producerDataSet": [{"groupName": "P"}],
}
ADMIN = {"the-admin", "bound-admin"}
T_PUB = {"sends-T", "all-topics", "the-admin", "bound-admin"}
T_SUB = {"takes-T-for-G", "all-topics", "the-admin"}
G_SUB = {"takes-T-for-G", "all-groups", "retries-G", "the-admin"}
H_SUB = {"all-groups", "the-admin"}
BOTH = T_SUB & G_SUB
FOR_ADMINISTRATORS = {code for code, row in BROKER_REQUESTS.items() if row.plain is Plain.ADMIN}
LOCKS = {
    "clientId": "c",
    "consumerGroup": "G",
    "mqSet": [{"topic": topic, "brokerName": "b", "queueId": 0} for topic in ("T", "%RETRY%G")],
}
ACKS = {"acks": [{"c": "G", "t": "T", "r": "0", "q": 0, "rq": 0, "pt": 1, "so": 1, "b": "AQ=="}]}


def refusal(
    code: int,
    ext: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    key: str | None = None,
    secret: str = SHARED_KEY,
    peer: str = FAR,
    guard: Guard | None = None,
) -> str | None:
    command = Command(code, ext=ext, body=body)
    if key is not None:
        command = signed(command, Credentials(key, secret))
    refused = (guard or Guard(RULES, BROKER_REQUESTS)).check(command, Caller(peer))
    return None if refused is None else refused.remark


def admitted(code: int, ext: dict[str, str], body: bytes = b"") -> set[str]:
    return {key for key in ALL if refusal(code, ext, body, key=key) is None}


@pytest.mark.parametrize(
    ("code", "ext", "senders"),
    [
        (Code.SEND_MESSAGE, {"topic": "T"}, T_PUB),
        (Code.SEND_MESSAGE_V2, {"b": "T"}, T_PUB),
        (Code.SEND_BATCH_MESSAGE, {"b": "T"}, T_PUB),
        (Code.SEND_MESSAGE, {"topic": "%RETRY%G"}, G_SUB),
        (Code.SEND_MESSAGE_V2, {"a": "H", "b": "%RETRY%G"}, G_SUB),
        (Code.SEND_REPLY_MESSAGE, {"topic": "T"}, T_PUB),
        (Code.SEND_REPLY_MESSAGE_V2, {"b": "T"}, T_PUB),
        (Code.SEND_REPLY_MESSAGE_V2, {"b": "DefaultCluster_REPLY_TOPIC"}, set(ALL)),
        (Code.RECALL_MESSAGE, {"topic": "T"}, T_PUB),
        (Code.PULL_MESSAGE, CONSUMING, BOTH),
        (Code.LITE_PULL_MESSAGE, CONSUMING, BOTH),
        (Code.POP_MESSAGE, CONSUMING, BOTH),
        (Code.ACK_MESSAGE, CONSUMING, BOTH),
        (Code.PULL_MESSAGE, {"topic": "%RETRY%G", "consumerGroup": "G"}, G_SUB),
        (Code.PULL_MESSAGE, {"topic": "%RETRY%G_T", "consumerGroup": "G"}, G_SUB & H_SUB),
        (Code.POP_MESSAGE, {"topic": "%RETRY%G_T", "consumerGroup": "G"}, G_SUB & H_SUB),
        (Code.ACK_MESSAGE, {"topic": "%RETRY%G_T", "consumerGroup": "G"}, BOTH),
        (Code.ACK_MESSAGE, {"topic": "%RETRY%G+T", "consumerGroup": "G"}, BOTH),
        (Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "T", "group": "G"}, BOTH),
        (Code.CLONE_GROUP_OFFSET, {"srcGroup": "G", "destGroup": "G", "topic": "T"}, BOTH),
        (Code.CLONE_GROUP_OFFSET, {"srcGroup": "G", "destGroup": "G"}, G_SUB),
        (Code.CLONE_GROUP_OFFSET, {"srcGroup": "G", "destGroup": "H"}, H_SUB & G_SUB),
        (Code.CLONE_GROUP_OFFSET, {"srcGroup": "H", "destGroup": "G"}, H_SUB & G_SUB),
        (Code.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"}, G_SUB),
        (Code.CONSUME_MESSAGE_DIRECTLY, {"consumerGroup": "G"}, G_SUB),
        (Code.UPDATE_CONSUMER_OFFSET, CONSUMING, BOTH),
        (Code.QUERY_MESSAGE, {"topic": "T"}, T_SUB),
        (Code.UNREGISTER_CLIENT, {"consumerGroup": "G"}, G_SUB),
        (Code.UNREGISTER_CLIENT, {"producerGroup": "P"}, set(ALL)),
        (Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}, G_SUB),
        (Code.CONSUMER_SEND_MSG_BACK, {"group": "G"}, G_SUB),
        (Code.SEND_MESSAGE_V2, {"b": "RMQ_SYS_TRACE_TOPIC"}, set(ALL)),
        (Code.GET_MAX_OFFSET, {"topic": "T"}, set(ALL)),
        (Code.END_TRANSACTION, {}, set(ALL)),
        *((code, {}, ADMIN) for code in sorted(FOR_ADMINISTRATORS)),
        *((code, {}, ADMIN) for code in sorted(set(Code) - BROKER_REQUESTS.keys())),
    ],
)
def test_rights_that_a_request_needs(code: int, ext: dict[str, str], senders: set[str]) -> None:
    assert admitted(code, ext) == senders


@pytest.mark.parametrize(
    "code",
    sorted(
        code
        for code, row in BROKER_REQUESTS.items()
        if row.plain is Plain.RIGHTS and not row.may_name_nothing
    ),
)
def test_request_without_a_name_needs_an_administrator(code: int) -> None:
    ext = {"topic": "", "consumerGroup": ""}
    assert admitted(code, ext, b'{"acks":[]}') <= {"the-admin"}


def test_heartbeat_needs_rights_to_all_its_topics_and_groups() -> None:
    assert admitted(Code.HEART_BEAT, {}, json.dumps(HEARTBEAT).encode()) == BOTH
    without = json.dumps({**HEARTBEAT, "consumerDataSet": []}).encode()
    assert admitted(Code.HEART_BEAT, {}, without) == set(ALL)


@pytest.mark.parametrize(
    ("code", "body"),
    [(Code.LOCK_BATCH_MQ, LOCKS), (Code.UNLOCK_BATCH_MQ, LOCKS), (Code.BATCH_ACK_MESSAGE, ACKS)],
)
def test_body_needs_rights_to_all_its_topics_and_groups(code: int, body: dict[str, object]) -> None:
    assert admitted(code, {}, json.dumps(body).encode()) == BOTH
    foreign = json.dumps(body).replace('"G"', '"H"').encode()
    assert admitted(code, {}, foreign) == T_SUB & H_SUB


def test_rights_found_in_a_message_are_checked_for_the_same_account() -> None:
    guard = Guard(RULES, BROKER_REQUESTS)

    def more(key: str, peer: str = FAR) -> str | None:
        command = Command(Code.VIEW_MESSAGE_BY_ID, ext={"AccessKey": key})
        refused = guard.check_more(command, Caller(peer), [topic_need("T", Right.SUB)])
        return None if refused is None else refused.remark

    assert {key for key in ALL if more(key) is None} == T_SUB
    assert more("sends-T", "10.9.9.1:1") is None
    assert more("nothing", "10.8.8.8:1") is None
    assert more("absent") is not None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"clientID":[]}'])
def test_malformed_heartbeat_is_refused(body: bytes) -> None:
    assert (refusal(Code.HEART_BEAT, {}, body, key="sends-T") or "").startswith(PREFIX)


@pytest.mark.parametrize("code", sorted(set(Code) - NAME_SERVER_REQUESTS.keys()))
def test_name_server_accepts_registrations_and_values_from_administrators(code: int) -> None:
    guard = Guard(RULES, NAME_SERVER_REQUESTS)
    admitted = {key for key in ALL if refusal(code, {}, key=key, guard=guard) is None}
    assert admitted == ADMIN


def test_name_server_gives_routes_to_every_signed_request() -> None:
    guard = Guard(RULES, NAME_SERVER_REQUESTS)
    ext = {"topic": "T"}
    assert refusal(Code.GET_ROUTEINFO_BY_TOPIC, ext, key="nothing", guard=guard) is None
    assert refusal(Code.GET_ROUTEINFO_BY_TOPIC, ext, guard=guard) is not None


@pytest.mark.parametrize(
    ("remark", "asked"),
    [
        ("No accessKey is configured", {}),
        ("No acl config for absent", {"key": "absent"}),
        ("Check signature failed for accessKey=sends-T", {"key": "sends-T", "secret": "1234567"}),
        ("No default permission for topic:U; PUB is needed", {"key": "sends-T"}),
    ],
)
def test_refusal_begins_with_javas_text(remark: str, asked: dict[str, str]) -> None:
    ext = {"topic": "U"}
    assert (refusal(10, ext, **asked) or "").startswith(PREFIX + remark)  # type: ignore[arg-type]  # texts all


def test_refusal_says_that_the_account_is_no_administrator() -> None:
    wanted = "Need admin permission for request code=17, but accessKey=sends-T is not"
    assert (refusal(17, {}, key="sends-T") or "").startswith(PREFIX + wanted)


def test_an_address_of_the_global_list_needs_nothing() -> None:
    for code in (10, 17, 50, Code.HEART_BEAT):
        assert refusal(code, peer="10.9.9.1:1") is None


def test_an_address_of_an_account_needs_no_signature_but_its_name() -> None:
    near = "10.8.8.8:1"
    assert refusal(17, {"AccessKey": "nothing"}, peer=near) is None
    assert refusal(17, {"AccessKey": "sends-T"}, peer=near) is not None
    assert refusal(17, {}, peer=near) is not None


def test_administrator_with_own_rights_is_limited_to_them() -> None:
    assert refusal(10, {"topic": "U"}, key="bound-admin") is not None
    assert refusal(10, {"topic": "U"}, key="the-admin") is None


def test_no_client_is_admitted_without_rules() -> None:
    guard = Guard(Rules(), BROKER_REQUESTS)
    assert all(refusal(10, key=key, guard=guard) is not None for key in ALL)


def test_new_rules_apply_at_once() -> None:
    guard = Guard(Rules(), BROKER_REQUESTS)
    guard.replace(RULES)
    assert refusal(10, {"topic": "T"}, key="sends-T", guard=guard) is None


def test_long_name_is_shortened_in_the_refusal() -> None:
    assert len(refusal(10, {"topic": "x" * 100_000}, key="sends-T") or "") < 1000
    assert len(refusal(10, key="x" * 100_000) or "") < 1000
