"""Attacks on access control: unsigned, replayed and wrongly signed requests, other accounts."""

from __future__ import annotations

import time

from gantrymq.acl.signature.signature import ACCESS_KEY, SIGNATURE, Credentials, signature
from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Peer, ask_each
from gantrymq.attack.site import ADMINISTRATOR, USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.broker.core.processor.requests import REQUEST_CODES
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.header import field_kinds
from gantrymq.wire.headers.table import REQUEST_HEADERS
from gantrymq.wire.message import sys_flag

ELSEWHERE = "127.0.0.2"  # the legitimate clients are at 127.0.0.1
NAMED = {"topic": TOPIC, "consumerGroup": "legitimate-consumers", "group": "legitimate-consumers"}


def plausible(code: int) -> dict[str, str]:
    """Fields with which a request of this code could be carried out."""
    header = REQUEST_HEADERS.get(RequestCode(code))
    kinds = {} if header is None else field_kinds(header)
    values = {"s": "x", "b": "false"}
    return {name: NAMED.get(name, values.get(kind, "0")) for name, kind in kinds.items()}


def test_no_request_is_served_without_a_signature(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with guarded_attack("access", "every code of broker and name server, unsigned") as attempt:
        codes = sorted(int(code) for code in RequestCode)
        tried = [(code, plausible(code), b"{}") for code in codes]
        broker = ask_each(guarded_site.broker, tried)
        names = ask_each(guarded_site.names, tried)
        assert not broker.counts["code 0"] + names.counts["code 0"]
        attempt.outcome = f"broker: {broker}; name server: {names}"


ADMINISTRATION = (
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
    RequestCode.DELETE_ACL_CONFIG,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
    RequestCode.SET_MESSAGE_REQUEST_MODE,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
    RequestCode.DELETE_EXPIRED_COMMITLOG,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    RequestCode.CLEAN_UNUSED_TOPIC,
    RequestCode.AUTH_CREATE_USER,
    RequestCode.AUTH_UPDATE_USER,
    RequestCode.AUTH_DELETE_USER,
    RequestCode.AUTH_CREATE_ACL,
    RequestCode.AUTH_UPDATE_ACL,
    RequestCode.AUTH_DELETE_ACL,
)


def test_ordinary_account_cannot_administer(guarded_attack: Trial, guarded_site: Site) -> None:
    with guarded_attack("access", "administration by an account without rights to it") as attempt:
        tried = [(code, plausible(code), b"{}") for code in ADMINISTRATION if code in REQUEST_CODES]
        answers = ask_each(guarded_site.broker, tried, USER)
        assert not answers.counts["code 0"]
        attempt.outcome = str(answers)


def test_no_response_to_an_administrator_contains_a_secret(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    what = "a captured signature without fields, sent again with each other code"
    with guarded_attack("replay", what) as attempt:
        shown = []
        with Peer(guarded_site.broker, ADMINISTRATOR) as peer:
            for code in sorted(REQUEST_CODES):
                if code in (RequestCode.UNREGISTER_CLIENT, RequestCode.END_TRANSACTION):
                    continue
                peer.send(code, {})
                try:
                    answer = peer.receive(1.0)
                except TimeoutError:
                    continue
                text = f"{answer.ext} {answer.remark}".encode() + answer.body
                secrets = (ADMINISTRATOR.secret_key, USER.secret_key)
                if any(secret.encode() in text for secret in secrets):
                    shown.append(code)
        assert not shown, f"codes {shown} return secret keys in clear"
        attempt.outcome = "no answer has a secret in clear"


def test_a_captured_signature_deletes_nothing(guarded_attack: Trial, guarded_site: Site) -> None:
    guarded_site.create_topic("captured", 1)
    with guarded_attack("replay", "a signature of GET_TOPIC_STATS_INFO, sent as a deletion") as it:
        ext = {"topic": "captured", ACCESS_KEY: ADMINISTRATOR.access_key}
        ext[SIGNATURE] = signature(ext, b"", ADMINISTRATOR.secret_key)
        answers = ask_each(
            guarded_site.broker.seen_from(ELSEWHERE),
            [
                (RequestCode.GET_TOPIC_STATS_INFO, ext, b""),
                (RequestCode.DELETE_TOPIC_IN_BROKER, ext, b""),
            ],
        )
        it.outcome = f"RocketMQ's signatures cover no code ({answers}): use TLS"


def test_wrong_signatures_do_not_lock_clients_out(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    wrong = Credentials(USER.access_key, "a-wrong-secret-key")
    what = "wrong signatures of the clients' own account from another address, for 3 s"
    with guarded_attack("signatures", what) as attempt:
        answers = Answers()
        until = time.monotonic() + 3.0
        ext = {"topic": TOPIC, "queueId": "0"}
        while time.monotonic() < until:
            with Peer(guarded_site.broker.seen_from(ELSEWHERE), wrong) as peer:
                frames = [peer.frame(RequestCode.GET_MAX_OFFSET, ext) for _ in range(200)]
                peer.send_bytes(b"".join(frames))
                answers.drain(peer, 200, 0.5)
        assert not answers.counts["code 0"]
        with Peer(guarded_site.broker, USER) as peer:
            assert peer.ask(RequestCode.GET_MAX_OFFSET, ext).code == ResponseCode.SUCCESS
        attempt.outcome = str(answers)


def test_number_of_accounts_is_bounded(guarded_attack: Trial, guarded_site: Site) -> None:
    what = "3 000 invented accounts, some with names of 100 KB"
    with guarded_attack("signatures", what) as attempt:
        answers = Answers()
        address = guarded_site.broker.seen_from("127.0.0.3")
        with Peer(address) as peer:
            for number in range(3_000):
                name = f"invented-{number}" + "x" * (100_000 if number % 100 == 0 else 0)
                ext = {"topic": TOPIC, "queueId": "0", ACCESS_KEY: name, SIGNATURE: "x" * 28}
                try:
                    answers.add(peer.ask(RequestCode.GET_MAX_OFFSET, ext))
                except OSError as error:
                    answers.ended(error)
                    break
        assert not answers.counts["code 0"]
        attempt.outcome = str(answers)


def test_internal_properties_do_not_redirect_messages(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    guarded_site.create_topic("closed-orders", 1)
    own = {
        "REAL_TOPIC": "closed-orders",
        "REAL_QID": "0",
        "RETRY_TOPIC": "closed-orders",
        "ORIGIN_MESSAGE_ID": "x",
        "INNER_MULTI_DISPATCH": "closed-orders",
        "INNER_MULTI_QUEUE_OFFSET": "0",
    }
    twice = requests.properties(**own) * 2
    ways = ("", requests.properties(DELAY="1"), requests.properties(TIMER_DELAY_SEC="1"))
    half = requests.properties(TRAN_MSG="true", PGROUP="x", UNIQ_KEY="x")
    what = "sends of an account whose properties name a topic it may not send to, in 12 ways"
    with guarded_attack("access", what) as attempt:
        tried = [
            (RequestCode.SEND_MESSAGE_V2, requests.send(TOPIC, text, sys_flag=flag), b"for others")
            for way in ways
            for text in (twice + way, way + twice)
            for flag in (0, sys_flag.TRANSACTION_COMMIT)
        ]
        ext = requests.send(TOPIC, twice + half, sys_flag=sys_flag.TRANSACTION_PREPARED)
        answers = ask_each(guarded_site.broker, [*tried, (tried[0][0], ext, b"half")], USER)
        time.sleep(3.0)
        with Peer(guarded_site.broker, ADMINISTRATOR) as peer:
            look = {"topic": "closed-orders", "queueId": "0"}
            stored = peer.ask(RequestCode.GET_MAX_OFFSET, look)
        assert (stored.ext or {}).get("offset") == "0", "messages came to the topic"
        attempt.outcome = f"nothing comes to the other topic ({answers})"


def test_refused_administration_fills_no_log(guarded_attack: Trial, guarded_site: Site) -> None:
    what = "2 000 deletions by an account without rights, and 2 000 unsigned, names of 1 KB"
    long = "n" * 1_000
    with guarded_attack("audit", what) as attempt:
        answers = Answers()
        for credentials in (USER, None):
            with Peer(guarded_site.broker.seen_from(ELSEWHERE), credentials) as peer:
                for first in range(0, 2_000, 1_000):
                    frames = [
                        peer.frame(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": f"{each}-{long}"})
                        for each in range(first, first + 1_000)
                    ]
                    peer.send_bytes(b"".join(frames))
                    answers.drain(peer, 1_000, 5.0)
        assert not answers.counts["code 0"]
        attempt.outcome = str(answers)


def test_wrong_signatures_of_a_neighbour_do_not_lock_clients_out(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    wrong = Credentials(USER.access_key, "a-wrong-secret-key")
    what = "500 wrong signatures of the clients' own account from their own address"
    with guarded_attack("signatures", what) as attempt:
        answers = Answers()
        ext = {"topic": TOPIC, "queueId": "0"}
        for _ in range(250):
            with Peer(guarded_site.broker, wrong) as peer:
                for _ in range(2):
                    answers.add(peer.ask(RequestCode.GET_MAX_OFFSET, ext))
        assert not answers.counts["code 0"]
        with Peer(guarded_site.broker, USER) as peer:
            assert peer.ask(RequestCode.GET_MAX_OFFSET, ext).code == ResponseCode.SUCCESS
        attempt.outcome = str(answers)
