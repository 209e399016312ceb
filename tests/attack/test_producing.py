"""Attacks by producers: timers, transactions, replies, recalls, traces, names of topics."""

from __future__ import annotations

import base64
import contextlib
import itertools
import time

from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Connections, Peer, ask_each
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import sys_flag

SEND = RequestCode.SEND_MESSAGE_V2
YEAR_MS = 365 * 24 * 3_600_000


def flood(peer: Peer, answers: Answers, ext: dict[str, str], body: bytes, count: int) -> None:
    """Send so many messages in one write, and read the responses."""
    peer.send_bytes(b"".join(peer.frame(SEND, ext, body) for _ in range(count)))
    answers.drain(peer, count, 5.0)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_timers_far_in_the_future_are_bounded(attack: Trial, open_site: Site) -> None:
    open_site.create_topic("timed", 1)
    times = [
        now_ms() + YEAR_MS // 2,
        now_ms() + 100 * YEAR_MS,
        2**63 - 1,
        -1,
        -(2**63),
        10**30,
    ]
    with attack("timers", "2 000 timers in half a year; in 100 years, 2^63 - 1, negative") as it:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for when in times:
                ext = requests.send("timed", requests.properties(TIMER_DELIVER_MS=str(when)))
                flood(peer, answers, ext, b"later", 2_000 if when == times[0] else 5)
            for name, value in (("TIMER_DELAY_SEC", "9" * 30), ("DELAY", "2147483648")):
                ext = requests.send("timed", requests.properties(**{name: value}))
                flood(peer, answers, ext, b"later", 5)
        it.outcome = str(answers)


def test_half_messages_of_a_producer_that_left_are_bounded(attack: Trial, open_site: Site) -> None:
    open_site.create_topic("halves", 1)
    flags = sys_flag.TRANSACTION_PREPARED
    properties = requests.properties(TRAN_MSG="true", PGROUP="leavers", UNIQ_KEY="a")
    with attack("transactions", "2 000 half messages whose producer leaves") as attempt:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            ext = requests.send("halves", properties, sys_flag=flags)
            flood(peer, answers, ext, b"half", 2_000)
        time.sleep(1.0)
        attempt.outcome = str(answers)


def test_ending_invented_transactions_commits_nothing(attack: Trial, open_site: Site) -> None:
    places = ("-1", "0", "1", "100", "9223372036854775807", "-9223372036854775808")
    what = "commits and roll-backs at invented places"
    with attack("transactions", what) as attempt, Peer(open_site.broker) as peer:
        for place, table, decision in itertools.product(places, places, ("8", "12", "0", "-1")):
            ext = {
                "producerGroup": "inventors",
                "tranStateTableOffset": table,
                "commitLogOffset": place,
                "commitOrRollback": decision,
                "fromTransactionCheck": "true",
                "msgId": "x" * 1_000,
                "transactionId": "x",
            }
            peer.send(RequestCode.END_TRANSACTION, ext)
        answers = Answers()
        answers.drain(peer, 4 * len(places) ** 2, 0.5)
        assert not answers.counts["code 0"]
        attempt.outcome = str(answers)


def test_transactions_of_other_accounts_cannot_be_ended(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    guarded_site.create_topic("secret-orders", 1)
    properties = requests.properties(TRAN_MSG="true", PGROUP="owners", UNIQ_KEY="b")
    ext = requests.send("secret-orders", properties, sys_flag=sys_flag.TRANSACTION_PREPARED)
    with guarded_attack("transactions", "commit another's half message") as attempt:
        with Peer(guarded_site.broker, guarded_site.credentials) as owner:
            stored = owner.ask(SEND, ext, b"half")
        told = stored.ext or {}
        end = {
            "producerGroup": "owners",
            "tranStateTableOffset": told.get("queueOffset", "0"),
            "commitLogOffset": str(int(told["msgId"][16:], 16)),
            "commitOrRollback": "8",
            "fromTransactionCheck": "true",
            "msgId": "b",
            "transactionId": "b",
        }
        tried = [(RequestCode.END_TRANSACTION, end, b"")]
        users = ask_each(guarded_site.broker, tried, USER)
        strangers = ask_each(guarded_site.broker, tried)
        assert not users.counts["code 0"] + strangers.counts["code 0"]
        attempt.outcome = f"refused ({users}; {strangers})"


def test_replies_to_a_client_that_does_not_read_are_bounded(attack: Trial, open_site: Site) -> None:
    what = "1 000 replies of 10 KB to a client that does not read"
    with attack("replies", what) as attempt, Peer(open_site.broker) as victim:
        body = requests.heartbeat("deaf", "deaf-consumers", [TOPIC])
        body = body.replace(b'"producerDataSet": []', b'"producerDataSet": [{"groupName": "deaf"}]')
        victim.send(RequestCode.HEART_BEAT, {}, body)
        properties = requests.properties(REPLY_TO_CLIENT="deaf", CORRELATION_ID="1", TTL="3000")
        ext = requests.send("DefaultCluster_REPLY_TOPIC", properties)
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for _ in range(10):
                frames = [
                    peer.frame(RequestCode.SEND_REPLY_MESSAGE_V2, ext, b"r" * 10_000)
                    for _ in range(100)
                ]
                with contextlib.suppress(OSError):
                    peer.send_bytes(b"".join(frames))
                answers.drain(peer, 100, 0.2)
        attempt.outcome = str(answers)


def test_invented_handles_recall_no_timer(attack: Trial, open_site: Site) -> None:
    plain = f"v1 timed broker-a {now_ms() + 10**9} some-unique-key"
    handles = (
        "",
        "x" * 10_000,
        base64.urlsafe_b64encode(plain.encode()).decode(),
        base64.urlsafe_b64encode(b"v1 " + b"\xff" * 100).decode(),
        base64.urlsafe_b64encode(b" ".join([b"v1"] * 1_000)).decode(),
    )
    with attack("timers", "recalls by invented handles") as attempt:
        tried = [
            (
                RequestCode.RECALL_MESSAGE,
                {"producerGroup": "recallers", "topic": "timed", "recallHandle": handle},
                b"",
            )
            for handle in handles
        ]
        attempt.outcome = str(ask_each(open_site.broker, tried))


def test_timers_of_other_accounts_cannot_be_recalled(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    guarded_site.create_topic("secret-orders", 1)
    with guarded_attack("timers", "recall another's timer by its true handle") as attempt:
        with Peer(guarded_site.broker, guarded_site.credentials) as owner:
            later = str(now_ms() + 3_600_000)
            properties = requests.properties(TIMER_DELIVER_MS=later, UNIQ_KEY="c")
            stored = owner.ask(SEND, requests.send("secret-orders", properties), b"later")
        handle = (stored.ext or {}).get("recallHandle", "")
        ext = {"producerGroup": "r", "topic": "secret-orders", "recallHandle": handle}
        own = {**ext, "topic": TOPIC}
        tried = [(RequestCode.RECALL_MESSAGE, each, b"") for each in (ext, own)]
        users = ask_each(guarded_site.broker, tried, USER)
        strangers = ask_each(guarded_site.broker, tried)
        assert not users.counts["code 0"] + strangers.counts["code 0"]
        attempt.outcome = f"refused ({users}; {strangers})"


def test_traces_do_not_block_messages(attack: Trial, open_site: Site) -> None:
    with attack("traces", "3 000 traces of 1 KB as fast as they go") as attempt:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for _ in range(3):
                flood(peer, answers, requests.send("RMQ_SYS_TRACE_TOPIC"), b"t" * 1_000, 1_000)
        attempt.outcome = str(answers)


def test_sends_to_topics_that_do_not_exist_create_none(attack: Trial, open_site: Site) -> None:
    names = (
        "../../../tmp/x",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "",
        "x" * 65_536,
        "é\u202e\U0001d4b3",
        "a\nERROR broker forged line",
        "a\0b",
        "%RETRY%../../x",
        "%DLQ%" + "x" * 300,
        "CON",
        "a b",
    )
    with attack(
        "topics", "sends to names with paths, controls, 64 KB; topics that do not exist"
    ) as it:
        tried = [(SEND, requests.send(name), b"x") for name in names]
        tried += [(SEND, requests.send(f"absent-topic-{number}"), b"x") for number in range(2_000)]
        answers = ask_each(open_site.broker, tried)
        assert not answers.counts["code 0"]
        assert open_site.broker_child is not None
        log = (open_site.broker_child.folder / "out.log").read_text(errors="replace")
        assert not [line for line in log.splitlines() if line.startswith("ERROR broker forged")]
        it.outcome = str(answers)


def test_messages_to_the_brokers_own_topics_are_refused(attack: Trial, open_site: Site) -> None:
    own = (
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "rmq_sys_wheel_timer",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "rmq_sys_REVIVE_LOG_DefaultCluster",
    )
    with attack("topics", "messages to the broker's own topics") as attempt:
        tried = [(SEND, requests.send(name), b'{"x":1}') for name in own]
        answers = ask_each(open_site.broker, tried)
        attempt.outcome = str(answers)


def test_excessive_properties_are_refused(attack: Trial, open_site: Site) -> None:
    kinds = (
        requests.properties(a="x" * 40_000),
        "\x01\x02" * 16_000,
        "\x01" * 30_000,
        "".join(f"k{number}\x01v\x02" for number in range(5_000)),
        requests.properties(KEYS=" ".join(f"k{number}" for number in range(5_000))),
        requests.properties(DELAY="-5", WAIT="x", TAGS="\x01\x02"),
    )
    with attack("properties", "40 KB, 16 000 separators, 5 000 properties, 5 000 keys") as attempt:
        tried = [(SEND, requests.send(TOPIC, text), b"x") for text in kinds for _ in range(5)]
        attempt.outcome = str(ask_each(open_site.broker, tried))


def test_sends_that_wait_for_nothing_leave_nothing(attack: Trial, open_site: Site) -> None:
    what = "300 connections write 20 messages of 50 KB each and close before the answers"
    with attack("sends", what) as attempt, Connections() as held:
        for _ in range(300):
            with contextlib.suppress(OSError):
                peer = Peer(open_site.broker)
                held.streams.append(peer.stream)
                frames = [
                    peer.frame(SEND, requests.send("timed"), b"s" * 50_000) for _ in range(20)
                ]
                peer.send_bytes(b"".join(frames))
                peer.close()
        attempt.outcome = "stored or not, and nothing is left"
