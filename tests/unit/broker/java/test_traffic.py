"""Replays a recorded session of real clients and tools, and compares the answers with Java's.

The answers have the same codes, remarks, fields and shapes, in the same order.

The capture is a sample of that session. What the exchanges left out of it had changed is supplied:
messages from the session's store, by place in their queue, and consumers that never show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any, Final

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import Request
from gantrymq.fakes.brokers.broker import IDENTITY, FakeChannel, OpenedBroker
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.javajson import loads
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

VECTORS: Final = Path(__file__).parents[3] / "vectors"
MASTER: Final = ("127.0.0.1:20911", "127.0.0.1:20909")
JAVA: Final = replace(IDENTITY, name="broker-v", cluster="VecCluster", address=MASTER[0])

PULLS: Final = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)
ENDED_HOLDS: Final = (19, 20)  # nothing new came, or nothing that matched
SIZE, PLACE, PLACE_AT = Struct(">i"), Struct(">q"), 20  # of a record
HOLD_SECONDS: Final = 21.0  # all captured pulls may wait 15 or 20 s
NOTHING_SAID: Final = "not set any response code"

# Exchanges that are answered otherwise, by their number in the capture -> why.
OTHERWISE: Final[Mapping[int, str]] = {
    69: "Java's pull ends with a file of the queue, and the session's files had 20 units",
    70: "the same",
    101: "its body depends on what has happened; a test of its own compares the figures' names",
    93: "Java's table of topics by group comes from a getter; its slaves read the other fields",
    123: "the same",
    153: "the reset of 149 comes here first: a pull that the capture left out had taken it",
    158: "no slave is connected",
    139: "the session's messages to that topic were stored here, not sent: no statistics",
    141: "and none of them was consumed by that group",
    173: "Java's answer is a null pointer: it has no timers to ask, and has deleted the topic",
    176: "the same",
    189: "Java stores any message anew; ours refuses what is not half of a transaction",
}
# What is of a moment or a place in the log, and so is another's in ours.
OF_THE_MOMENT: Final = {
    *("msgId", "timestamp", "version", "indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"),
}
# Consumers whose heartbeats are not in the capture: sender -> client id, group, topic.
SILENT: Final = {
    "litepull": ("127.0.0.1@c4@STREAM", "VecLite", "VecTopic"),
    "reqconsumer": ("127.0.0.1@c5", "VecReqGroup", "VecReq"),
}

# Captured JSON: what is in it is what the test is about.
Exchange = dict[str, Any]


@cache
def captured() -> list[Exchange]:
    found: list[Exchange] = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    return found


@cache
def stored() -> dict[tuple[str, int, int], Exchange]:
    """The records of the session's store by topic, queue and place in it."""
    contents = json.loads((VECTORS / "store-5.3.3-clean.contents.json").read_text())
    return {
        (each["topic"], each["queueId"], each["queueOffset"]): each
        for each in contents["commitlog"]
        if "queueId" in each
    }


def command_of(exchange: Exchange) -> Command:
    part = exchange["request"]
    (command,) = FrameReader().decode(bytes.fromhex(part["frame"]))
    return command


class Session:
    """Our broker in the place of Java's."""

    def __init__(self) -> None:
        self.broker = OpenedBroker(identity=JAVA)
        self.channels: dict[str, FakeChannel] = {}
        self.beats: dict[str, Exchange] = {}
        self.begin()

    def begin(self) -> None:
        """What was there before, or came to be without a trace in the capture."""
        self.broker.state.topics.put(TopicConfig("VecReq", 1, 1), 1)
        for sender, (client_id, group, topic) in SILENT.items():
            self.broker.state.groups.put(GroupConfig(group_name=group), 1)
            wants = {"topic": topic, "subString": "*", "subVersion": 0}
            consumer = {"groupName": group, "subscriptionDataSet": [wants]}
            self.beat(sender, {"clientID": client_id, "consumerDataSet": [consumer]})
        commit = {"consumerGroup": "VecReqGroup", "topic": "VecReq", "queueId": "0"}
        self.broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext={**commit, "commitOffset": "0"})
        producer = {"groupName": "VecReqProducer"}
        self.beat("requester", {"clientID": "127.0.0.1@rq", "producerDataSet": [producer]})

    # ------------------------------------------------------------------ requests

    def ask(self, exchange: Exchange) -> Request:
        """It as its client sent it, with places in the log as they are in ours."""
        self.supply(exchange)
        command = command_of(exchange)
        if command.code == RequestCode.HEART_BEAT:
            self.beats[exchange["sender"]] = json.loads(command.body)
        elif command.code == RequestCode.CONSUMER_SEND_MSG_BACK:
            command.ext = {**(command.ext or {}), "offset": self.position(exchange)}
        request = self.broker.send(
            RequestCode(command.code),
            ext=command.ext,
            body=command.body,
            channel=self.channel(exchange["sender"]),
            is_oneway=command.is_oneway,
            version=command.version,
        )
        self.answer_for_clients()
        return request

    def channel(self, sender: str) -> FakeChannel:
        return self.channels.setdefault(sender, FakeChannel())

    def answer_for_clients(self) -> None:
        """What their clients answered when the broker passed a question on."""
        for channel in self.channels.values():
            for asked in channel.asked:
                (answer,) = [
                    each["response"]
                    for each in captured()
                    if each["sender"].startswith("broker->")
                    and each["request"]["code"] == asked.command.code
                    and each.get("response")
                ][:1]
                body = answer.get("bodyText", "").encode()
                self.broker.client_answers(asked, Command(answer["code"], body=body))
            channel.asked.clear()

    def let_holds_end(self) -> None:
        """Time passes; clients that have said that they live go on to."""
        self.broker.pass_time(HOLD_SECONDS)
        for sender, body in self.beats.items():
            self.beat(sender, body)

    def beat(self, sender: str, body: Exchange) -> None:
        self.beats[sender] = body
        answer = self.broker.ask(
            RequestCode.HEART_BEAT, body=json.dumps(body).encode(), channel=self.channel(sender)
        )
        assert answer.code == 0, answer.remark

    def answer_to(self, request: Request) -> Command | None:
        return None if self.broker.is_held(request) else self.broker.answer(request)

    # ------------------------------------------------------------------ what the capture left out

    def supply(self, exchange: Exchange) -> None:
        told = (exchange.get("response") or {}).get("ext") or {}
        asked = exchange["request"].get("ext") or {}
        if "maxOffset" in told:
            self.grow(asked["topic"], int(asked["queueId"]), int(told["maxOffset"]))
        elif exchange["request"]["code"] == RequestCode.QUERY_CONSUMER_OFFSET and told:
            self.grow(asked["topic"], int(asked["queueId"]), 1)
        elif "queueOffset" in told and "queueId" in told:
            self.grow(asked["b"], int(told["queueId"]), int(told["queueOffset"]))
        if (version := int(asked.get("subVersion", 0))) > 0:
            self.renew(exchange["sender"], asked["topic"], version)

    def renew(self, sender: str, topic: str, version: int) -> None:
        """Consumers subscribe anew whenever their queues change."""
        for consumer in self.beats[sender]["consumerDataSet"]:
            for wants in consumer["subscriptionDataSet"]:
                if wants["topic"] == topic:
                    wants["subVersion"] = version
        self.beat(sender, self.beats[sender])

    def grow(self, topic: str, queue_id: int, count: int) -> None:
        """As many messages as the session's queue had."""
        if topic.startswith("%RETRY%") or (topic, queue_id, 0) not in stored():
            return
        for offset in range(len(self.broker.opened.records(topic, queue_id)), count):
            self.put(stored()[topic, queue_id, offset])

    def put(self, javas: Exchange) -> None:
        record = Record(
            javas["topic"].encode(),
            bytes.fromhex(javas["bodyHex"]),
            properties=properties.encode(javas["properties"]),
            queue_id=javas["queueId"],
            sys_flag=javas["sysFlag"],
            born_timestamp_ms=javas["bornTimestamp"],
            born_host=JAVA.store_host,
            store_host=JAVA.store_host,
        )
        self.broker.state.task_runner.start(tasks.put(record), lambda _: None, fail)
        self.broker.settle()

    def position(self, exchange: Exchange) -> str:
        """Where our log has what is at that place in Java's."""
        place = int(exchange["request"]["ext"]["offset"])
        topic, queue_id, offset = next(
            key for key, each in stored().items() if each["offset"] == place
        )
        self.grow(topic, queue_id, offset + 1)
        return str(self.broker.opened.records(topic, queue_id)[offset].physical_offset)


def fail(error: Exception) -> None:
    raise error


def replayed() -> Iterator[tuple[int, Exchange]]:
    """All that went to the master, with its number."""
    for number, exchange in enumerate(captured()):
        is_asked = not exchange["sender"].startswith("broker->")
        if is_asked and exchange["peer"] in MASTER:
            yield number, exchange


def differences(exchange: Exchange, answer: Command) -> list[object]:
    """Where ours is not as Java's was."""
    javas = exchange["response"]
    found: list[object] = []
    if answer.code != javas["code"]:
        found.append(("code", answer.code, javas["code"]))
    remark = (javas.get("remark") or "").rstrip()
    if remark != NOTHING_SAID and not (answer.remark or "").startswith(remark):
        found.append(("remark", answer.remark, remark))
    ours, theirs = answer.ext or {}, javas.get("ext") or {}
    found += [
        (name, ours.get(name), theirs.get(name))
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
        and not (name in OF_THE_MOMENT and name in ours and name in theirs)
    ]
    if is_json(javas.get("bodyText", "")):
        shapes = shape(loads(answer.body)), shape(loads(javas["bodyText"].encode()))
        found += [("body", *shapes)] if shapes[0] != shapes[1] else []
    elif bool(answer.body) != bool(javas.get("bodyLen")):
        found.append(("body", len(answer.body), javas.get("bodyLen")))
    elif exchange["request"]["code"] in PULLS and places(answer.body) != places(body_of(javas)):
        found.append(("messages", places(answer.body), places(body_of(javas))))
    return found


def is_json(text: str) -> bool:
    return text.startswith("{")


def body_of(javas: Exchange) -> bytes:
    length = javas.get("bodyLen") or 0
    return bytes.fromhex(javas["frame"])[-length:] if length else b""


def places(body: bytes) -> list[int]:
    """Where in their queue the messages of a pull are."""
    found: list[int] = []
    while body:
        (size,) = SIZE.unpack_from(body)
        found += PLACE.unpack_from(body, PLACE_AT)
        body = body[size:]
    return found


def shape(value: object) -> object:
    """The names of its fields; tables and lists have the shapes of what they hold."""
    if isinstance(value, dict):
        inner = {key: shape(each) for key, each in value.items()}
        is_table = inner and all(
            isinstance(each, dict | list) or not isinstance(key, str) or key.isdigit()
            for key, each in value.items()
        )
        return ("table", *_distinct(inner.values())) if is_table else inner
    if isinstance(value, list):
        return ("list", *_distinct(shape(each) for each in value))
    return "value"


def _distinct(shapes: Iterable[object]) -> list[str]:
    return sorted({repr(each) for each in shapes})


@cache
def outcomes() -> Mapping[int, Command | None]:
    """What ours answered; None where it did not."""
    session = Session()
    requests = {}
    for number, exchange in replayed():
        requests[number] = session.ask(exchange)
        code = (exchange.get("response") or {}).get("code")
        if code in ENDED_HOLDS or exchange["name"] == "UPDATE_AND_GET_GROUP_FORBIDDEN":
            session.let_holds_end()
    session.let_holds_end()
    return {number: session.answer_to(request) for number, request in requests.items()}


def name_of(number: int) -> str:
    exchange = captured()[number]
    return f"{number} {exchange['sender']} {exchange['name']}"


@pytest.mark.parametrize(
    "number",
    [n for n, each in replayed() if each.get("response") and n not in OTHERWISE],
    ids=name_of,
)
def test_the_answer_is_as_javas(number: int) -> None:
    answer = outcomes()[number]
    assert answer is not None
    assert differences(captured()[number], answer) == []


def test_what_wants_no_answer_gets_none() -> None:
    oneway = [number for number, each in replayed() if command_of(each).is_oneway]
    assert len(oneway) > 5
    assert [number for number in oneway if outcomes()[number] is not None] == []


def test_nearly_every_code_of_the_session_is_compared() -> None:
    asked = {each["request"]["code"] for _, each in replayed() if each.get("response")}
    compared = {
        each["request"]["code"]
        for number, each in replayed()
        if each.get("response") and number not in OTHERWISE
    }
    assert len(compared) > 45
    assert asked - compared == {
        RequestCode.GET_BROKER_RUNTIME_INFO,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.RESUME_CHECK_HALF_MESSAGE,
        RequestCode.GET_BROKER_HA_STATUS,
    }
