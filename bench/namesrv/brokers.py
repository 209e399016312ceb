"""Simulates brokers that only register, as a Java 5.3.3 broker does every 30 seconds.

A registration is one REGISTER_BROKER frame: a JSON header with the CRC32 of the body, and the whole
topic table as fastjson writes it, uncompressed by default in 5.3.3. `dataVersion` stays the same
until topics change; `mappingDataVersion` is the time of the message, so that no two bodies are
equal. The connections stay open, since a name server drops the brokers of a closed connection.
"""

from __future__ import annotations

import selectors
import socket
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from bench.namesrv.request import json_request

REGISTER_BROKER = 103
REGISTER_SECONDS_MAX = 120.0
BORN_MS = 1_700_000_000_000  # any time that stays the same


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with the configuration that its brokers have."""

    name: str
    queues: int


# Every real broker has these in addition to its users' topics.
SYSTEM_TOPICS = (
    Topic("RMQ_SYS_TRANS_HALF_TOPIC", 1),
    Topic("BenchmarkTest", 1024),
    Topic("OFFSET_MOVED_EVENT", 1),
    Topic("TBW102", 8),
    Topic("SELF_TEST_TOPIC", 1),
    Topic("SCHEDULE_TOPIC_XXXX", 18),
    Topic("RMQ_SYS_TRANS_OP_HALF_TOPIC", 1),
    Topic("bench", 16),
)


@dataclass(frozen=True, slots=True)
class Brokers:
    """A cluster of masters, and the topics of each."""

    topics: Sequence[Sequence[Topic]]

    def tables(self) -> list[str]:
        """The topic tables, which are costly to encode; brokers with the same topics share one."""
        made: dict[int, str] = {}
        for topics in self.topics:
            if id(topics) not in made:
                made[id(topics)] = ",".join(topic_config(topic) for topic in topics)
        return [made[id(topics)] for topics in self.topics]


class Fleet:
    """The brokers' open connections to one name server."""

    def __init__(self, port: int, brokers: Brokers) -> None:
        self._tables = brokers.tables()
        self._port = port
        self._streams: list[socket.socket] = []
        self._counter = 0
        self._registered = time.monotonic()

    def __enter__(self) -> Self:
        for _ in self._tables:
            stream = socket.create_connection(("127.0.0.1", self._port))
            stream.setblocking(False)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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

    def change(self) -> None:
        """Change topics, so that the next registration differs."""
        self._counter += 1

    def register(self) -> float:
        """Register all brokers at the same moment; returns the seconds until the last answer."""
        born_ms = time.time_ns() // 1_000_000
        frames = [
            _registration(number, table, self._counter, born_ms)
            for number, table in enumerate(self._tables)
        ]
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for stream, frame in zip(self._streams, frames, strict=True):
                talk = _Talk(stream, memoryview(frame))
                selector.register(stream, selectors.EVENT_READ | selectors.EVENT_WRITE, talk)
            while selector.get_map():
                if time.monotonic() - began > REGISTER_SECONDS_MAX:
                    raise TimeoutError("the name server does not answer registrations")
                for key, mask in selector.select(1.0):
                    _advance(selector, key.data, mask)
        self._registered = time.monotonic()
        return self._registered - began

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last registration."""
        return time.monotonic() - self._registered


class _Talk:
    """One registration in progress."""

    __slots__ = ("answer", "stream", "unsent")

    def __init__(self, stream: socket.socket, unsent: memoryview) -> None:
        self.stream = stream
        self.unsent = unsent
        self.answer = b""


def _advance(selector: selectors.BaseSelector, talk: _Talk, mask: int) -> None:
    if mask & selectors.EVENT_WRITE:
        talk.unsent = talk.unsent[talk.stream.send(talk.unsent[: 1 << 20]) :]
        if not talk.unsent:
            selector.modify(talk.stream, selectors.EVENT_READ, talk)
    if mask & selectors.EVENT_READ:
        data = talk.stream.recv(65536)
        if not data:
            raise ConnectionError("the name server closed a broker's connection")
        talk.answer += data
        if len(talk.answer) >= 4 + int.from_bytes(talk.answer[:4], "big"):
            selector.unregister(talk.stream)
            if b'"code":0,' not in talk.answer:
                raise ConnectionError(f"a registration was refused: {talk.answer!r}")


def _registration(number: int, table: str, counter: int, born_ms: int) -> bytes:
    name, port = f"broker-{number:03d}", 30000 + 3 * number
    system = ",".join(map(topic_config, (*SYSTEM_TOPICS, Topic(name, 1))))
    version = f'{{"counter":{counter},"stateVersion":0,"timestamp":{BORN_MS + number}}}'
    mapping = f'{{"counter":0,"stateVersion":0,"timestamp":{born_ms}}}'
    body = (
        '{"filterServerList":[],"topicConfigSerializeWrapper":{'
        f'"dataVersion":{version},"mappingDataVersion":{mapping},'
        f'"topicConfigTable":{{{system},{table}}},'
        '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{}}}'
    ).encode()
    ext = {
        "brokerId": "0",
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
        "clusterName": "bench",
        "brokerAddr": f"127.0.0.1:{port}",
        "enableActingMaster": "false",
        "haServerAddr": f"127.0.0.1:{port + 1}",
        "compressed": "false",
        "brokerName": name,
    }
    return json_request(REGISTER_BROKER, ext, opaque=number, body=body)


def topic_config(topic: Topic) -> str:
    """An entry of a topic table as fastjson writes it."""
    return (
        f'"{topic.name}":{{"attributes":{{}},"order":false,"perm":6,'
        f'"readQueueNums":{topic.queues},"topicFilterType":"SINGLE_TAG",'
        f'"topicName":"{topic.name}","topicSysFlag":0,"writeQueueNums":{topic.queues}}}'
    )
