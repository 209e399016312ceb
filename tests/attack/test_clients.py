"""Attacks by what clients report about themselves: heartbeats, ids, groups, locks."""

from __future__ import annotations

import contextlib
import json
import time

from gantrymq.attack import requests
from gantrymq.attack.legitimate import GROUP, TOPIC
from gantrymq.attack.peer import Answers, Connections, Peer, ask_each
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode, ResponseCode

MEMBERS = RequestCode.GET_CONSUMER_LIST_BY_GROUP


def members(site: Site, group: str) -> list[str]:
    with Peer(site.broker, site.credentials) as peer:
        answer = peer.ask(MEMBERS, {"consumerGroup": group})
    if answer.code != ResponseCode.SUCCESS:
        return []
    listed = json.loads(answer.body)["consumerIdList"]
    assert isinstance(listed, list)
    return [str(each) for each in listed]


def test_heartbeats_are_kept_in_bounds(fresh_attack: Trial, fresh_site: Site) -> None:
    what = "60 connections, each with a heartbeat of 5 000 subscriptions (5 MB)"
    with fresh_attack("heartbeats", what) as attempt, Connections() as held:
        answers = Answers()
        for number in range(60):
            with contextlib.suppress(OSError):
                peer = Peer(fresh_site.broker)
                held.streams.append(peer.stream)
                topics = [f"topic-{number}-{each}" for each in range(5_000)]
                body = requests.heartbeat(f"c{number}", f"many-{number}", topics, "t" * 900)
                peer.send(RequestCode.HEART_BEAT, {}, body)
                answers.drain(peer, 1, 10.0)
        attempt.outcome = str(answers)


def test_subscriptions_of_many_clients_are_kept_in_bounds(
    fresh_attack: Trial, fresh_site: Site
) -> None:
    what = "30 connections, each with subscriptions of 7 MB, which one client may have"
    with fresh_attack("heartbeats", what) as attempt, Connections() as held:
        answers = Answers()
        for number in range(30):
            with contextlib.suppress(OSError):
                peer = Peer(fresh_site.broker)
                held.streams.append(peer.stream)
                topics = [f"topic-{number}-{each}" for each in range(2_000)]
                body = requests.heartbeat(f"c{number}", f"heavy-{number}", topics, "t" * 3_500)
                peer.send(RequestCode.HEART_BEAT, {}, body)
                answers.drain(peer, 1, 10.0)
        attempt.outcome = str(answers)


def test_many_small_heartbeats_are_kept_in_bounds(fresh_attack: Trial, fresh_site: Site) -> None:
    what = "5 000 client ids and groups by heartbeats, 250 to a connection"
    with fresh_attack("heartbeats", what) as attempt, Connections() as held:
        answers = Answers()
        for number in range(20):
            peer = Peer(fresh_site.broker)
            held.streams.append(peer.stream)
            frames = [
                peer.frame(
                    RequestCode.HEART_BEAT,
                    {},
                    requests.heartbeat(f"c{number}-{each}", f"group-{number}-{each}", ["t"]),
                )
                for each in range(250)
            ]
            peer.send_bytes(b"".join(frames))
            answers.drain(peer, 250, 5.0)
        attempt.outcome = str(answers)


def test_client_ids_of_megabytes_are_refused(attack: Trial, open_site: Site) -> None:
    with attack("heartbeats", "20 heartbeats with a client id and a group of 1 MB") as attempt:
        bodies = [
            requests.heartbeat("i" * 1_000_000, "ids", [TOPIC]),
            requests.heartbeat("i", "g" * 1_000_000, [TOPIC]),
        ]
        answers = ask_each(
            open_site.broker, [(RequestCode.HEART_BEAT, {}, body) for body in bodies * 10]
        )
        attempt.outcome = str(answers)


def test_unregistering_the_clients_of_others_has_no_effect(attack: Trial, open_site: Site) -> None:
    what = "unregister another connection's client, and take its client id"
    with attack("clients", what) as attempt, Peer(open_site.broker) as victim:
        body = requests.heartbeat("victim", "victims", [TOPIC])
        assert victim.ask(RequestCode.HEART_BEAT, {}, body).code == 0
        ext = {"clientID": "victim", "consumerGroup": "victims", "producerGroup": "p"}
        answers = ask_each(open_site.broker, [(RequestCode.UNREGISTER_CLIENT, ext, b"")] * 20)
        assert members(open_site, "victims") == ["victim"]
        answers = ask_each(open_site.broker, [(RequestCode.HEART_BEAT, {}, body)] * 20)
        victim.ask(RequestCode.HEART_BEAT, {}, body)
        assert members(open_site, "victims") == ["victim"]
        attempt.outcome = f"the client stays a member ({answers})"


def test_strangers_cannot_join_groups_of_other_accounts(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    what = "heartbeats of strangers and of an account without rights into another's group"
    with guarded_attack("clients", what) as attempt:
        body = requests.heartbeat("intruder", "orders-service", [TOPIC])
        strangers = ask_each(guarded_site.broker, [(RequestCode.HEART_BEAT, {}, body)] * 50)
        users = ask_each(guarded_site.broker, [(RequestCode.HEART_BEAT, {}, body)] * 50, USER)
        assert not members(guarded_site, "orders-service")
        attempt.outcome = f"refused ({strangers}; with an account {users})"


def test_many_clients_of_one_group_do_not_stall_the_others(attack: Trial, open_site: Site) -> None:
    what = "300 connections join one group one after the other, and leave at once"
    with attack("clients", what) as attempt:
        with Connections() as held:
            for number in range(300):
                peer = Peer(open_site.broker)
                held.streams.append(peer.stream)
                body = requests.heartbeat(f"joiner-{number}", "joiners", [TOPIC])
                peer.send(RequestCode.HEART_BEAT, {}, body)
            time.sleep(1.0)
            joined = len(members(open_site, "joiners"))
        time.sleep(0.5)
        attempt.outcome = f"{joined} joined, {len(members(open_site, 'joiners'))} are left"


def test_queues_of_other_accounts_cannot_be_locked(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    queues = [{"topic": "orders", "brokerName": "broker-a", "queueId": each} for each in range(8)]
    body = json.dumps({"consumerGroup": "orders-service", "clientId": "x", "mqSet": queues})
    with guarded_attack("clients", "lock and unlock the queues of another's group") as attempt:
        tried: list[tuple[int, dict[str, str], bytes]] = [
            (code, {}, body.encode())
            for code in (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ)
            for _ in range(20)
        ]
        strangers = ask_each(guarded_site.broker, tried)
        users = ask_each(guarded_site.broker, tried, USER)
        assert not strangers.counts["code 0"] + users.counts["code 0"]
        attempt.outcome = f"refused ({strangers}; with an account {users})"


def test_locks_of_invented_queues_are_kept_in_bounds(attack: Trial, open_site: Site) -> None:
    with attack("clients", "100 requests that lock 5 000 invented queues each") as attempt:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for number in range(100):
                queues = [
                    {"topic": f"t{number}", "brokerName": "b", "queueId": each}
                    for each in range(5_000)
                ]
                fields = {"consumerGroup": f"lockers-{number}", "clientId": "x", "mqSet": queues}
                body = json.dumps(fields).encode()
                answers.add(peer.ask(RequestCode.LOCK_BATCH_MQ, {}, body))
        attempt.outcome = str(answers)


def test_groups_of_anonymous_pulls_are_removed(fresh_attack: Trial, fresh_site: Site) -> None:
    with fresh_attack(
        "clients", "21 000 pulls, each of another group; then a new consumer"
    ) as attempt:
        answers = Answers()
        with Peer(fresh_site.broker) as peer:
            for first in range(0, 21_000, 1_000):
                frames = [
                    peer.frame(
                        RequestCode.PULL_MESSAGE, requests.pull(TOPIC, f"squatter-{each}", count=1)
                    )
                    for each in range(first, first + 1_000)
                ]
                peer.send_bytes(b"".join(frames))
                answers.drain(peer, 1_000, 5.0)
            newcomer = peer.ask(
                RequestCode.PULL_MESSAGE, requests.pull(TOPIC, "orders-service", 1 << 40)
            )
        assert newcomer.code in {
            ResponseCode.SUCCESS,
            ResponseCode.PULL_NOT_FOUND,
            ResponseCode.PULL_OFFSET_MOVED,
            ResponseCode.PULL_RETRY_IMMEDIATELY,
        }, f"a new consumer is refused: {newcomer.code} {newcomer.remark}"
        attempt.outcome = f"a new consumer is served ({answers})"


def test_offsets_of_other_accounts_cannot_be_changed(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    commit = {
        "consumerGroup": "orders-service",
        "topic": TOPIC,
        "queueId": "0",
        "commitOffset": "9999",
    }
    reset = {"topic": TOPIC, "group": "orders-service", "timestamp": "0", "isForce": "true"}
    clone = {"srcGroup": GROUP, "destGroup": "orders-service", "topic": TOPIC, "offline": "false"}
    tried = [
        (RequestCode.UPDATE_CONSUMER_OFFSET, commit, b""),
        (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, reset, b""),
        (RequestCode.CLONE_GROUP_OFFSET, clone, b""),
    ]
    with guarded_attack("clients", "commit, reset and clone the offsets of another's group") as it:
        strangers = ask_each(guarded_site.broker, tried)
        users = ask_each(guarded_site.broker, tried, USER)
        assert not strangers.counts["code 0"] + users.counts["code 0"]
        it.outcome = f"refused ({strangers}; with an account {users})"
