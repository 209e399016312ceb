"""A client's connection to a broker that may be killed any moment, and records read by hand.

It shares no code with the product, as the connection below it. What the broker asks while an
answer is waited for is kept in `asked`.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias, final

from gantrymq.interop.wire import Answer, Connection, Request

# What a connection that a kill cuts ends with.
CUT: Final = (OSError, struct.error)

_RESPONSE: Final = 1
_PREPARED: Final = 4
_SEND, _PULL, _CREATE_TOPIC, _MAX_OFFSET = 10, 11, 17, 30

# total, magic, crc, queue, flag | queue offset, position | sys flag, born | host, port
_head: Final = struct.Struct(">5i2qiq8sq8siq")
_BODY_AT: Final = _head.size


Properties: TypeAlias = Mapping[str, object]
NONE: Final[Properties] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A message as a broker gives it out."""

    topic: str
    queue_id: int
    offset: int
    position: int
    body: str
    properties: Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """What the answer to a send says."""

    queue_id: int
    offset: int
    position: int


@final
class Link:
    """Questions and answers; OSError when the broker is gone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.asked: deque[Answer] = deque()

    def begin(self, code: int, ext: Mapping[str, object], body: bytes = b"") -> int:
        """Ask, and wait for nothing."""
        texts = {name: str(value) for name, value in ext.items()}
        return self._connection.send(Request(code, texts, body))

    def answer(self) -> Answer:
        """The next answer."""
        while True:
            frame = self._connection.receive()
            if frame.flag & _RESPONSE:
                return frame
            self.asked.append(frame)

    def ask(self, code: int, ext: Mapping[str, object], body: bytes = b"") -> Answer:
        opaque = self.begin(code, ext, body)
        answer = self.answer()
        assert answer.opaque == opaque, f"asked {opaque}, answered {answer.opaque}"
        return answer

    def must(self, code: int, ext: Mapping[str, object], body: bytes = b"") -> Answer:
        """What is never refused."""
        answer = self.ask(code, ext, body)
        assert answer.code == 0, answer
        return answer

    # ------------------------------------------------------------------ common questions

    def create_topic(self, topic: str, queues: int = 1) -> None:
        self.must(_CREATE_TOPIC, topic_fields(topic, queues))

    def begin_send(
        self, topic: str, body: str, properties: Properties = NONE, *, queue_id: int = 0
    ) -> int:
        return self.begin(_SEND, send_fields(topic, queue_id, properties), body.encode())

    def send(self, topic: str, body: str, properties: Properties = NONE) -> Stored | None:
        """None when it was refused."""
        self.begin_send(topic, body, properties)
        return stored(self.answer())

    def end(self, topic: str, queue_id: int = 0) -> int:
        """Where the queue ends."""
        answer = self.must(_MAX_OFFSET, {"topic": topic, "queueId": queue_id})
        return int((answer.ext or {})["offset"])

    def queue(self, topic: str, queue_id: int = 0, first: int = 0) -> Iterator[Found]:
        """All messages of a queue from this one on."""
        end = self.end(topic, queue_id)
        while first < end:
            found = messages(self.must(_PULL, _pull_fields(topic, queue_id, first)).body)
            yield from found
            first = found[-1].offset + 1


def stored(answer: Answer) -> Stored | None:
    """What the answer to a send says; None of one that was refused."""
    if answer.code != 0:
        return None
    ext = answer.ext or {}
    position = int(ext["msgId"][-16:], 16)
    return Stored(int(ext["queueId"]), int(ext["queueOffset"]), position)


def messages(body: bytes) -> Sequence[Found]:
    """The records of an answer."""
    found = []
    at = 0
    while at < len(body):
        found.append(_message(body, at))
        at += int.from_bytes(body[at : at + 4], "big")
    return found


def _message(data: bytes, start: int) -> Found:
    head = _head.unpack_from(data, start)
    at = start + _BODY_AT
    body, at = _text(data, at, 4)
    topic, at = _text(data, at, 1)
    properties, at = _text(data, at, 2)
    assert at == start + head[0], "a record is as long as it says"
    pairs = (pair.partition("\1") for pair in properties.split("\2") if pair)
    named = {name: value for name, _, value in pairs}
    return Found(topic, head[3], head[5], head[6], body, named)


def _text(data: bytes, at: int, length_bytes: int) -> tuple[str, int]:
    begin = at + length_bytes
    end = begin + int.from_bytes(data[at:begin], "big")
    return data[begin:end].decode(), end


def topic_fields(topic: str, queues: int) -> dict[str, object]:
    """To create a topic."""
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": "false",
    }


def send_fields(topic: str, queue_id: int, properties: Properties) -> dict[str, object]:
    """The fields of a SEND_MESSAGE request."""
    return {
        "producerGroup": "Producers",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": queue_id,
        "sysFlag": _PREPARED if "TRAN_MSG" in properties else 0,
        "bornTimestamp": int(time.time() * 1000),
        "flag": 0,
        "properties": "".join(f"{name}\1{value}\2" for name, value in properties.items()),
        "reconsumeTimes": 0,
        "unitMode": "false",
        "batch": "false",
    }


def _pull_fields(topic: str, queue_id: int, offset: int) -> dict[str, object]:
    return {
        "consumerGroup": "Readers",
        "topic": topic,
        "queueId": queue_id,
        "queueOffset": offset,
        "maxMsgNums": 32,
        "sysFlag": 4,  # it brings its subscription, and does not wait
        "commitOffset": 0,
        "suspendTimeoutMillis": 0,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    }
