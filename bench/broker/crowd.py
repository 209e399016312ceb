"""Simulates many clients of one broker: open connections, and the heartbeats they repeat.

Each client is a member of a few consumer groups; each group has two members and subscribes to
topics of its own. A heartbeat is HEART_BEAT with a JSON header, as a Java 5.3.3 client sends it.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from bench.broker.broker_paces import Crowd
from bench.namesrv.request import json_request
from gantrymq.interop.wire import decode

HEART_BEAT: Final = 34
SYSTEM_BUSY: Final = 2
GROUPS_A_CLIENT: Final = 4
TALK_SECONDS_MAX: Final = 300.0
IS_RESPONSE: Final = 1
BORN_MS: Final = 1_700_000_000_000


def topic_name(number: int) -> str:
    return f"crowd-topic-{number:05d}"


class Clients:
    """Connections to one broker, one for each client."""

    def __init__(self, port: int, crowd: Crowd) -> None:
        self._port = port
        self._heartbeats = [heartbeat(number, crowd) for number in range(crowd.connections)]
        self._streams: list[socket.socket] = []

    def __enter__(self) -> Self:
        for _ in self._heartbeats:
            stream = socket.create_connection(("127.0.0.1", self._port))
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setblocking(False)
            self._streams.append(stream)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in self._streams:
            stream.close()

    def beat(self) -> Beat:
        """Send all heartbeats at the same moment. A client repeats a heartbeat at once if the
        broker is busy."""
        began = time.monotonic()
        refused = 0
        with selectors.DefaultSelector() as selector:
            for stream, frame in zip(self._streams, self._heartbeats, strict=True):
                stream.send(frame)  # much smaller than the socket's buffer, which is empty
                selector.register(stream, selectors.EVENT_READ, _Talk(stream, frame))
            while selector.get_map():
                if time.monotonic() - began > TALK_SECONDS_MAX:
                    raise TimeoutError(f"{len(selector.get_map())} heartbeats were not answered")
                for key, _ in selector.select(1.0):
                    talk: _Talk = key.data
                    code = _answer(talk)
                    if code == SYSTEM_BUSY:
                        refused += 1
                        talk.stream.send(talk.frame)
                    elif code is not None:
                        selector.unregister(talk.stream)
        return Beat(time.monotonic() - began, refused)


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat of every client: the seconds until the last answer, and the number of
    refusals."""

    seconds: float
    refused: int


class _Talk:
    """One heartbeat in progress."""

    __slots__ = ("frame", "stream", "unread")

    def __init__(self, stream: socket.socket, frame: bytes) -> None:
        self.stream = stream
        self.frame = frame
        self.unread = bytearray()


def _answer(talk: _Talk) -> int | None:
    """The code of the answer once it has arrived. Brokers also send requests, when a group
    changes."""
    data = talk.stream.recv(65536)
    if not data:
        raise ConnectionError("the broker closed a client's connection")
    unread = talk.unread
    unread += data
    code = None
    while len(unread) >= 4 and len(unread) >= (end := 4 + int.from_bytes(unread[:4], "big")):
        answer = decode(bytes(unread[4:end]))
        del unread[:end]
        if answer.flag & IS_RESPONSE:
            if answer.code not in {0, SYSTEM_BUSY}:
                raise ConnectionError(f"a heartbeat was refused: {answer.code} {answer.remark}")
            code = answer.code
    return code


def heartbeat(client: int, crowd: Crowd) -> bytes:
    """The heartbeat frame of one client."""
    groups = [(client * GROUPS_A_CLIENT // 2 + at) % crowd.groups for at in range(GROUPS_A_CLIENT)]
    body = {
        "clientID": f"127.0.0.1@{client}",
        "consumerDataSet": [_membership(group, crowd) for group in groups],
        "heartbeatFingerprint": 0,
        "producerDataSet": [{"groupName": "CLIENT_INNER_PRODUCER"}],
        "withoutSub": False,
    }
    text = json.dumps(body, separators=(",", ":")).encode()
    return json_request(HEART_BEAT, {}, opaque=client, body=text)


def _membership(group: int, crowd: Crowd) -> dict[str, object]:
    topics: Sequence[int] = range(group, crowd.topics, crowd.groups)
    return {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "groupName": f"crowd-group-{group:05d}",
        "messageModel": "CLUSTERING",
        "subscriptionDataSet": [
            {
                "classFilterMode": False,
                "codeSet": [],
                "expressionType": "TAG",
                "subString": "*",
                "subVersion": BORN_MS,
                "tagsSet": [],
                "topic": topic_name(topic),
            }
            for topic in topics
        ],
        "unitMode": False,
    }
