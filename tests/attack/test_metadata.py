"""Attacks on tables: topics and settings of a broker; values and brokers of a name server."""

from __future__ import annotations

import json
import zlib

from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Peer, ask_each
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import MIB, Trial
from gantrymq.wire.codes import RequestCode, ResponseCode

CREATE = RequestCode.UPDATE_AND_CREATE_TOPIC


def test_number_of_queues_is_bounded(fresh_attack: Trial, fresh_site: Site) -> None:
    with fresh_attack(
        "topics", "1 500 topics of 16 384 queues each, that no client uses"
    ) as attempt:
        answers = Answers()
        with Peer(fresh_site.broker) as peer:
            for first in range(0, 1_500, 100):
                frames = [
                    peer.frame(CREATE, requests.topic(f"many-queues-{number}", 16_384))
                    for number in range(first, first + 100)
                ]
                peer.send_bytes(b"".join(frames))
                answers.drain(peer, 100, 10.0)
        attempt.outcome = str(answers)


def test_invalid_topics_are_refused(attack: Trial, open_site: Site) -> None:
    queues = ("-1", "0", "2147483647", "100000", "9" * 30)
    with attack("topics", "2^31 - 1 queues, negative ones, absurd rights, names with paths") as it:
        bad = [{"readQueueNums": each, "writeQueueNums": each} for each in queues]
        bad += [{"perm": each} for each in ("-1", "255", "2147483647")]
        names = ("../../x", "/x", "x" * 70_000, "TBW102", "SCHEDULE_TOPIC_XXXX", "a\nb", "")
        tried: list[tuple[int, dict[str, str], bytes]] = [
            (CREATE, {**requests.topic("absurd"), **each}, b"") for each in bad
        ]
        tried += [(CREATE, requests.topic(name), b"") for name in names]
        tried += [(CREATE, requests.topic("absurd", attributes="+" * 100_000), b"")]
        tried += [(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": name}, b"") for name in names]
        it.outcome = str(ask_each(open_site.broker, tried))


FORBIDDEN = (
    ("brokerConfigPath", "/elsewhere/x"),
    ("rocketmqHome", "/elsewhere; touch y"),
    ("filterServerNums", "1"),
    ("storePathRootDir", "/etc"),
    ("configBlackList", "x"),
    ("bindAddress", "1.1.1.1"),
    ("listenPort", "1"),
    ("namesrvAddr", "6.6.6.6:9876"),
    ("aclEnable", "true"),
    ("brokerRole", "SLAVE"),
    ("maxTransferBytesOnMessageInMemory", str(2**31 - 1)),
    ("maxTransferCountOnMessageInMemory", str(2**31 - 1)),
    ("msgTraceTopicName", "../../x"),
    ("unknownKey", "1"),
)


def test_requests_cannot_change_settings_that_protect_a_broker(
    attack: Trial, open_site: Site
) -> None:
    what = f"UPDATE_BROKER_CONFIG of {', '.join(key for key, _ in FORBIDDEN)}; open"
    with attack("settings", what) as attempt, Peer(open_site.broker) as peer:
        accepted = []
        for key, value in FORBIDDEN:
            answer = peer.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{key}={value}\n".encode())
            shown = peer.ask(RequestCode.GET_BROKER_CONFIG).body.decode().splitlines()
            if answer.code == ResponseCode.SUCCESS or f"{key}={value}" in shown:
                accepted.append(key)
        assert not accepted, f"accepted: {accepted}"
        attempt.outcome = "each is refused"


NAMES_FORBIDDEN = (
    ("bindAddress", "1.1.1.1"),
    ("listenPort", "1"),
    ("configStorePath", "/elsewhere/x"),
    ("kvConfigPath", "/elsewhere/x"),
    ("configStorePathName", "/elsewhere/x"),
    ("rocketmqHome", "/elsewhere/x"),
    ("metricsPort", "1"),
    ("aclEnable", "true"),
    ("unknownKey", "1"),
)


def test_requests_cannot_change_settings_that_stop_a_name_server(
    attack: Trial, open_site: Site
) -> None:
    what = f"UPDATE_NAMESRV_CONFIG of {', '.join(key for key, _ in NAMES_FORBIDDEN)}; open"
    with attack("settings", what) as attempt, Peer(open_site.names) as peer:
        accepted = []
        for key, value in NAMES_FORBIDDEN:
            answer = peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, {}, f"{key}={value}\n".encode())
            if answer.code == ResponseCode.SUCCESS:
                accepted.append(key)
        assert not accepted, f"accepted: {accepted}"
        attempt.outcome = "each is refused"


def test_servers_start_again_after_changes_of_settings(
    fresh_attack: Trial, fresh_site: Site
) -> None:
    with fresh_attack("settings", "each forbidden change of both servers, then a restart") as it:
        answers = Answers()
        for address, code, changes in (
            (fresh_site.broker, RequestCode.UPDATE_BROKER_CONFIG, FORBIDDEN),
            (fresh_site.names, RequestCode.UPDATE_NAMESRV_CONFIG, NAMES_FORBIDDEN),
        ):
            with Peer(address) as peer:
                for key, value in changes:
                    answers.add(peer.ask(code, {}, f"{key}={value}\n".encode()))
        it.outcome = str(answers)
    fresh_site.restart()
    assert fresh_site.is_alive()


def test_kv_values_of_a_name_server_are_bounded(fresh_attack: Trial, fresh_site: Site) -> None:
    with fresh_attack("name server", "5 000 values of 10 KB by PUT_KV_CONFIG") as attempt:
        answers = Answers()
        with Peer(fresh_site.names) as peer:
            for first in range(0, 5_000, 500):
                frames = [
                    peer.frame(
                        RequestCode.PUT_KV_CONFIG,
                        {"namespace": f"n{number % 50}", "key": str(number), "value": "v" * 10_000},
                    )
                    for number in range(first, first + 500)
                ]
                peer.send_bytes(b"".join(frames))
                answers.drain(peer, 500, 10.0)
        attempt.outcome = str(answers)


def test_invented_brokers_are_bounded(fresh_attack: Trial, fresh_site: Site) -> None:
    with fresh_attack("name server", "300 invented brokers with 500 topics each") as attempt:
        answers = Answers()
        with Peer(fresh_site.names) as peer:
            for number in range(300):
                topics = [f"invented-{number}-{each}" for each in range(500)]
                ext, body = requests.registration(f"b{number}", f"10.0.0.1:{number}", topics)
                answers.add(peer.ask(RequestCode.REGISTER_BROKER, ext, body))
        attempt.outcome = str(answers)


def test_bombs_in_registrations_are_not_inflated(attack: Trial, open_site: Site) -> None:
    bomb = zlib.compress(b"\0" * (200 * MIB), 9)
    deep = b'{"topicConfigSerializeWrapper":' + b"[" * 100_000
    numbers = b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":' + b"9" * 500_000 + b"}}}"
    with attack("name server", "registrations of 200 MiB packed, 100 000 deep, huge numbers") as it:
        tried: list[tuple[int, dict[str, str], bytes]] = []
        for body in (bomb, deep, numbers, b"\x78" + b"\xff" * 100):
            ext, _ = requests.registration("bomber", "10.0.0.2:1", [])
            tried += [(RequestCode.REGISTER_BROKER, ext, body)] * 5
            tried += [(RequestCode.REGISTER_BROKER, {**ext, "compressed": "true"}, body)] * 5
        answers = ask_each(open_site.names, tried)
        assert not answers.counts["code 0"]
        it.outcome = str(answers)


def test_routes_are_not_taken_over(guarded_attack: Trial, guarded_site: Site) -> None:
    ext, body = requests.registration("broker-a", "10.6.6.6:10911", [TOPIC])
    end = {key: ext[key] for key in ("brokerName", "brokerAddr", "clusterName", "brokerId")}
    mine = {**end, "brokerAddr": str(guarded_site.broker)}
    tried = [
        (RequestCode.REGISTER_BROKER, ext, body),
        (RequestCode.BROKER_HEARTBEAT, end, b""),
        (RequestCode.UNREGISTER_BROKER, mine, b""),
        (RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"}, b""),
        (RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": TOPIC}, b""),
        (RequestCode.REGISTER_TOPIC_IN_NAMESRV, {"topic": TOPIC}, b"{}"),
        (RequestCode.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"}, b""),
        (RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"orderMessageEnable=true\n"),
    ]
    what = "register, end, wipe and delete another's broker, topics and values"
    with guarded_attack("name server", what) as attempt:
        strangers = ask_each(guarded_site.names, tried)
        users = ask_each(guarded_site.names, tried, USER)
        assert not strangers.counts["code 0"] + users.counts["code 0"]
        with Peer(guarded_site.names, USER) as peer:
            answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
        assert b"10.6.6.6" not in answer.body
        attempt.outcome = f"refused ({strangers}; with an account {users})"


def test_many_requests_for_lists_do_not_stall_clients(attack: Trial, open_site: Site) -> None:
    codes = (
        RequestCode.GET_ALL_TOPIC_CONFIG,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.GET_BROKER_RUNTIME_INFO,
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.GET_ALL_PRODUCER_INFO,
    )
    with attack("queries", "300 requests for each of six complete lists, at once") as attempt:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            peer.send_bytes(b"".join(peer.frame(code, {}) for code in codes for _ in range(300)))
            answers.drain(peer, 300 * len(codes), 10.0)
        attempt.outcome = str(answers)


def test_malformed_bodies_change_nothing(attack: Trial, open_site: Site) -> None:
    bodies = (
        b"[" * 100_000,
        b'{"a":' * 50_000,
        json.dumps({"x": "y" * 1_000_000}).encode(),
        b'{"clientID":1e999999}',
        b'{"consumerGroup":null,"mqSet":{"a":1}}',
        b"\xff" * 1_000,
        b"",
    )
    codes = (
        RequestCode.HEART_BEAT,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHECK_CLIENT_CONFIG,
    )
    with attack("bodies", "bodies of nonsense for eight requests that have one") as attempt:
        tried: list[tuple[int, dict[str, str], bytes]] = [
            (code, {}, body) for code in codes for body in bodies
        ]
        attempt.outcome = str(ask_each(open_site.broker, tried))
