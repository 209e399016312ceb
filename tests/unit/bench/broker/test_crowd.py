"""Tests a crowd of clients: the members of groups, and the wait for heartbeats."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter

from bench.broker.broker_paces import Crowd
from bench.broker.crowd import Clients, heartbeat
from bench.namesrv.request import json_request
from gantrymq.interop.wire import decode

CROWD = Crowd(connections=10, groups=20, topics=60, queues=60, period_seconds=0.0)
NOTIFY_CONSUMER_IDS_CHANGED = 40


def test_each_group_has_two_members_and_topics_of_its_own() -> None:
    members: Counter[str] = Counter()
    topics: dict[str, set[str]] = {}
    for client in range(CROWD.connections):
        body = json.loads(decode(heartbeat(client, CROWD)[4:]).body)
        for data in body["consumerDataSet"]:
            members[data["groupName"]] += 1
            topics[data["groupName"]] = {one["topic"] for one in data["subscriptionDataSet"]}
    assert len(members) == CROWD.groups
    assert set(members.values()) == {2}
    assert len(set.union(*topics.values())) == sum(map(len, topics.values())) == CROWD.topics


def test_request_of_the_broker_is_no_answer_to_a_heartbeat() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        crowd = Crowd(1, 2, 2, 2, 0.0)
        server = threading.Thread(target=_answer_late, args=(listener,))
        server.start()
        with Clients(listener.getsockname()[1], crowd) as clients:
            clients.beat()
        server.join()


def _answer_late(listener: socket.socket) -> None:
    """Send a request of the broker first, and then the answer byte by byte."""
    stream, _ = listener.accept()
    with stream:
        stream.recv(1 << 20)
        stream.sendall(json_request(NOTIFY_CONSUMER_IDS_CHANGED, {}, opaque=7))
        answer = json_request(0, {}, opaque=0).replace(b'"flag":0', b'"flag":1')
        for byte in answer:
            stream.sendall(bytes((byte,)))
