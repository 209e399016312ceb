"""Attacks by consumers: abandoned pulls, responses that are not read, pops, acks, offsets."""

from __future__ import annotations

import contextlib
import time

import pytest

from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Connections, Peer, ask_each
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode, ResponseCode

LARGE = "large-messages"


@pytest.fixture(scope="module")
def large(open_site: Site) -> Site:
    """A topic with 30 messages of 3 MB."""
    open_site.create_topic(LARGE, 1)
    with Peer(open_site.broker) as peer:
        for _ in range(30):
            ext = requests.send(LARGE)
            assert peer.ask(RequestCode.SEND_MESSAGE_V2, ext, b"z" * 3_000_000).code == 0
    return open_site


def test_pulls_of_closed_connections_are_forgotten(attack: Trial, open_site: Site) -> None:
    what = "200 connections leave 100 waiting pulls each and close at once"
    with attack("pulls", what) as attempt:
        ext = requests.pull(TOPIC, "leavers", 1 << 30, suspend_ms=30_000)
        ext["queueOffset"] = "100000000"
        for _ in range(200):
            with Peer(open_site.broker) as peer:
                frames = [peer.frame(RequestCode.PULL_MESSAGE, ext) for _ in range(100)]
                peer.send_bytes(b"".join(frames))
        attempt.outcome = "forgotten with their connections"


def test_unread_responses_are_bounded(attack: Trial, large: Site) -> None:
    what = "60 connections ask for 30 answers of 3 MB each and read nothing"
    with attack("pulls", what) as attempt, Connections() as held:
        ext = requests.pull(LARGE, "slow-readers", count=1)
        for _ in range(60):
            peer = Peer(large.broker)
            held.streams.append(peer.stream)
            with contextlib.suppress(OSError):
                peer.send_bytes(b"".join(peer.frame(11, ext) for _ in range(30)))
        time.sleep(2.0)
        attempt.outcome = f"{held.closed()} of 60 closed"


def test_pulls_of_everything_are_bounded(attack: Trial, large: Site) -> None:
    with attack("pulls", "pulls of 2^31 - 1 messages and bytes, and of negative ones") as attempt:
        answers = Answers()
        with Peer(large.broker) as peer:
            for count in ("2147483647", "-1", "-2147483648", "0"):
                for size in ("2147483647", "-1", "0"):
                    ext = requests.pull(LARGE, "greedy", maxMsgNums=count, maxMsgBytes=size)
                    answer = answers.add(peer.ask(RequestCode.PULL_MESSAGE, ext))
                    assert len(answer.body) <= 16 << 20
        attempt.outcome = str(answers)


def test_offsets_beyond_the_queue_are_corrected(attack: Trial, open_site: Site) -> None:
    offsets = ("-1", "-9223372036854775808", "9223372036854775807", "1000000000000")
    with attack("pulls", "pulls from negative offsets and from beyond the end") as attempt:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for offset in offsets:
                for queue in ("0", "-1", "2147483647", "5"):
                    ext = requests.pull(TOPIC, "beyond", queueOffset=offset, queueId=queue)
                    answers.add(peer.ask(RequestCode.PULL_MESSAGE, ext))
        attempt.outcome = str(answers)


def test_committed_offsets_beyond_the_queue_do_no_harm(attack: Trial, open_site: Site) -> None:
    with attack("offsets", "commits of 5 000 groups' offsets, negative and beyond the end") as it:
        commits = [
            (
                RequestCode.UPDATE_CONSUMER_OFFSET,
                {
                    "consumerGroup": f"committer-{number}",
                    "topic": TOPIC,
                    "queueId": str((0, -1, 7, 2**31 - 1)[number % 4]),
                    "commitOffset": str((-1, 2**63 - 1, -(2**63), 5)[number // 4 % 4]),
                },
                b"",
            )
            for number in range(2_000)
        ]
        it.outcome = str(ask_each(open_site.broker, commits))


def test_pops_with_absurd_times_do_not_hide_messages_for_ever(
    attack: Trial, open_site: Site
) -> None:
    open_site.create_topic("popped", 1)
    send = (RequestCode.SEND_MESSAGE_V2, requests.send("popped"), b"x")
    ask_each(open_site.broker, [send] * 20)
    times = (2**63 - 1, -1, -(2**63), 0, 10**15)
    with attack("pops", "pops hidden for 2^63 - 1 ms and for negative times") as attempt:
        answers = ask_each(
            open_site.broker,
            [
                (200050, requests.pop("popped", f"poppers-{at}", invisible_ms=each), b"")
                for at, each in enumerate(times)
            ],
        )
        attempt.outcome = str(answers)


def test_waiting_pops_of_closed_connections_are_forgotten(attack: Trial, open_site: Site) -> None:
    what = "100 connections leave 50 waiting pops each and close at once"
    with attack("pops", what) as attempt:
        for number in range(100):
            with Peer(open_site.broker) as peer:
                ext = requests.pop("popped", f"leavers-{number % 10}", pollTime="20000")
                frames = [peer.frame(RequestCode.POP_MESSAGE, ext) for _ in range(50)]
                peer.send_bytes(b"".join(frames))
        attempt.outcome = "forgotten with their connections"


HANDLES = (
    "",
    "0 0 0 0 0 0 0 0",
    "1 1700000000000 60000 0 0 broker-a 0 0",
    "9223372036854775807 -1 -1 -1 -1 x -1 -1",
    "9" * 5_000,
    "a b c d e f g h",
    " " * 10_000,
)


def test_invented_handles_acknowledge_nothing(attack: Trial, open_site: Site) -> None:
    with attack("pops", "acknowledgements and changes by invented handles") as attempt:
        tried = [
            (
                code,
                {
                    "consumerGroup": "poppers",
                    "topic": TOPIC,
                    "queueId": "0",
                    "extraInfo": handle,
                    "offset": offset,
                    "invisibleTime": "9223372036854775807",
                },
                b"",
            )
            for code in (RequestCode.ACK_MESSAGE, RequestCode.CHANGE_MESSAGE_INVISIBLETIME)
            for handle in HANDLES
            for offset in ("0", "-1", "9223372036854775807")
        ]
        attempt.outcome = str(ask_each(open_site.broker, tried))


def test_pops_of_other_accounts_cannot_be_acknowledged(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with guarded_attack("pops", "acknowledge what another's group has popped") as attempt:
        guarded_site.create_topic("popped", 1)
        with Peer(guarded_site.broker, guarded_site.credentials) as owner:
            owner.ask(RequestCode.SEND_MESSAGE_V2, requests.send("popped"), b"x")
            popped = owner.ask(RequestCode.POP_MESSAGE, requests.pop("popped", "orders-service"))
        info = (popped.ext or {}).get("startOffsetInfo", "0 0 0")
        handle = f"0 {(popped.ext or {}).get('popTime', '0')} 1000 0 0 broker-a 0 0"
        ext = {
            "consumerGroup": "orders-service",
            "topic": "popped",
            "queueId": "0",
            "extraInfo": handle,
            "offset": "0",
        }
        users = ask_each(guarded_site.broker, [(RequestCode.ACK_MESSAGE, ext, b"")], USER)
        strangers = ask_each(guarded_site.broker, [(RequestCode.ACK_MESSAGE, ext, b"")])
        assert not users.counts["code 0"] + strangers.counts["code 0"]
        attempt.outcome = f"refused (pop {popped.code}, {info!r}: {users}; {strangers})"


def test_messages_of_other_accounts_cannot_be_read(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with guarded_attack("access", "look at another's message by its place in the log") as attempt:
        guarded_site.create_topic("secret-orders", 1)
        with Peer(guarded_site.broker, guarded_site.credentials) as owner:
            stored = owner.ask(RequestCode.SEND_MESSAGE_V2, requests.send("secret-orders"), b"s3")
        place = int((stored.ext or {})["msgId"][16:], 16)
        looked = [
            (RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(place)}, b""),
            (
                RequestCode.CONSUMER_SEND_MSG_BACK,
                {"offset": str(place), "group": "legitimate-consumers", "delayLevel": "1"},
                b"",
            ),
        ]
        users = ask_each(guarded_site.broker, looked, USER)
        strangers = ask_each(guarded_site.broker, looked)
        assert not users.counts["code 0"] + strangers.counts["code 0"]
        attempt.outcome = f"refused ({users}; {strangers})"


def test_send_backs_of_invented_offsets_store_nothing(attack: Trial, open_site: Site) -> None:
    places = ("-1", "0", "1", "9223372036854775807", "123456789")
    with attack("consumers", "send back messages at invented places, with absurd levels") as it:
        tried = [
            (
                RequestCode.CONSUMER_SEND_MSG_BACK,
                {
                    "offset": place,
                    "group": "senders-back",
                    "delayLevel": level,
                    "originMsgId": "x" * 1_000,
                    "originTopic": TOPIC,
                    "maxReconsumeTimes": "-5",
                },
                b"",
            )
            for place in places
            for level in ("-1", "0", "2147483647", "-2147483648")
        ]
        answers = ask_each(open_site.broker, tried)
        assert answers.counts["code 0"] <= len(places) * 4
        it.outcome = str(answers)


def test_queries_over_everything_are_bounded(attack: Trial, open_site: Site) -> None:
    ext = {
        "topic": TOPIC,
        "key": "k" * 10_000,
        "maxNum": "2147483647",
        "beginTimestamp": "0",
        "endTimestamp": "9223372036854775807",
    }
    queue = {"topic": TOPIC, "queueId": "0", "index": "0", "count": "2147483647"}
    with attack("queries", "queries by key over all times, 2^31 - 1 queue entries") as attempt:
        tried = [
            (RequestCode.QUERY_MESSAGE, ext, b""),
            (RequestCode.QUERY_CONSUME_QUEUE, queue, b""),
            (RequestCode.QUERY_CONSUME_QUEUE, {**queue, "index": "-5", "count": "-1"}, b""),
            (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**queue, "timestamp": "-1"}, b""),
        ]
        answers = ask_each(open_site.broker, tried * 50)
        assert not answers.counts[str(ResponseCode.SYSTEM_BUSY)]
        attempt.outcome = str(answers)
