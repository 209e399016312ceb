"""Runs two sides for mqadmin: Java's broker with Java's name server, and the servers under test.

Both sides have the same history: the same topics, messages, clients and committed offsets, so that
mqadmin must print the same about both.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import KINDS
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.stage import Consumer, Message, Producer, Sent, Stage
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import (
    Broker,
    JavaBroker,
    NameServer,
    gantry_broker,
    gantry_name_server,
    java_name_server,
)
from gantrymq.interop.wire import Request

QUERY_CONSUMER_OFFSET, UPDATE_CONSUMER_OFFSET, CONSUMER_LIST, UPDATE_GROUP = 14, 15, 38, 200
CLUSTER, BROKER = "interop", "broker-admin"
TOPIC, GROUP, PRODUCERS = "AdminTopic", "AdminGroup", "AdminProducer"
MESSAGES, QUEUES = 20, 4

# Where the defaults differ on purpose, both sides get the same value: the tests compare behaviour.
SETTINGS: Final = {
    "brokerName": BROKER,
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "recallMessageEnable": "true",
    "timerMaxDelaySec": "259200",
    "cleanFileForciblyEnable": "false",
}


@dataclass(frozen=True, slots=True)
class AdminSide:
    """A name server, its broker, and clients that run for the whole test run."""

    server: NameServer
    broker: Broker
    producer: Producer
    consumer: Consumer
    first: Sent

    @property
    def places(self) -> Mapping[str, str]:
        """The values for names in braces in the options of commands."""
        return {
            "broker": self.broker.address,
            "folder": str(self.export_folder),
            "offset_id": self.first.offset_id,
            "id": self.first.id,
            "client": self.client_id(),
        }

    @property
    def export_folder(self) -> Path:
        """The folder that mqadmin may write to."""
        return self.broker.folder / "export"

    def client_id(self) -> str:
        """The consumer's client id, as the broker knows it."""
        answer = self.broker.ask(Request(CONSUMER_LIST, {"consumerGroup": GROUP}))
        (found,) = json.loads(answer.body)["consumerIdList"]
        return str(found)

    def prepare(self, topic: str, group: str, offset: int) -> None:
        """Create a topic of one queue with ten messages, and a group that has consumed some."""
        self.broker.create_topic(topic, 1)
        made = self.broker.ask(
            Request(UPDATE_GROUP, body=json.dumps({"groupName": group}).encode())
        )
        assert made.code == 0, made
        self.producer.send([Message(topic, f"body {n}") for n in range(10)])
        ext = {"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": str(offset)}
        answer = self.broker.ask(Request(UPDATE_CONSUMER_OFFSET, ext))
        assert answer.code == 0, answer

    def without_place(self, text: str) -> str:
        """The text without values that differ between the sides or between two moments."""
        for server in (self.broker, self.server):
            text = text.replace(str(server.folder), "<folder>")
        for pattern, name in _VARIABLE:
            text = pattern.sub(name, text)
        return _HASH_TABLE.sub(_in_order, text)


_HASH_TABLE: Final = re.compile(r"(properties=|Properties: +)\{([^}]*)\}")
_VARIABLE: Final = tuple(
    (re.compile(pattern, re.MULTILINE), name)
    for pattern, name in (
        (r"^\s+at .*\n|^\s+\.\.\. \d+ more\n", ""),
        (r"127\.0\.0\.1:\d+", "<address>"),
        (r"\b[0-9A-F]{32}\b|\b[0-9A-F]{56}\b", "<id>"),
        (r"(?<!\.)\b1[78]\d{11}\b", "<millis>"),  # but not the fraction of a rate
        (r"\b20\d\d-\d\d-\d\d[ #T]\d\d:\d\d:\d\d([.,:]\d+)?", "<time>"),
        (r"\b20\d{12,15}\b", "<time>"),
        (r"\b(rt|spentTimeMills)=\d+", r"\1=<n>"),
        (r"Consume TPS: [\d.]+", "Consume TPS: <n>"),
        (r"(Lambda\S*/)?(0x[0-9a-f]+)?@[0-9a-f]{5,8}\b", "<object>"),
        # A retry queue gets an offset when the first held pull ends, after 15 s.
        (r"^%RETRY%\S+ +broker-admin .*\n", ""),
    )
)


def _in_order(table: re.Match[str]) -> str:
    return f"{table[1]}{{{', '.join(sorted(table[2].split(', ')))}}}"


@contextmanager
def admin_sides(
    kind: BrokerKind, folder: Callable[[str], Path]
) -> Iterator[tuple[AdminSide, AdminSide]]:
    """Both sides, ready for commands; Java's first."""
    with ExitStack() as running:
        reference = _java(running, folder, "reference")
        subject = (
            _java(running, folder, "subject")
            if kind is BrokerKind.JAVA
            else _gantry(running, folder)
        )
        yield (
            _settled(running, folder, *reference),
            _settled(running, folder, *subject),
        )


def _java(
    running: ExitStack, folder: Callable[[str], Path], name: str
) -> tuple[NameServer, Broker]:
    server = running.enter_context(java_name_server(REFERENCE, folder(f"{name}-namesrv")))
    broker = JavaBroker(REFERENCE, folder(f"{name}-broker"), [server], SETTINGS)
    return server, running.enter_context(broker)


def _gantry(running: ExitStack, folder: Callable[[str], Path]) -> tuple[NameServer, Broker]:
    server = running.enter_context(gantry_name_server(folder("subject-namesrv")))
    broker = gantry_broker(folder("subject-broker"), [server], SETTINGS)
    return server, running.enter_context(broker)


def _settled(
    running: ExitStack, folder: Callable[[str], Path], server: NameServer, broker: Broker
) -> AdminSide:
    client = running.enter_context(Client("mqadmin's", folder("client"), KINDS[0].command))
    stage = running.enter_context(Stage(client, broker, "admin"))
    broker.create_topic(TOPIC, QUEUES)
    producer = stage.producer(group=PRODUCERS)
    consumer = stage.consumer(TOPIC, group=GROUP)
    sent = producer.send(
        [
            Message(
                TOPIC,
                f"body {n}",
                tag="TagA" if n % 2 else "TagB",
                key=f"key-{n}",
                properties={"shard": str(n % QUEUES), "colour": "blue"},
            )
            for n in range(MESSAGES)
        ],
        "select",
    )
    assert len(consumer.received(MESSAGES)) == MESSAGES
    side = AdminSide(server, broker, producer, consumer, sent[0])
    stage.wait_until(lambda: _has_committed(broker), "the consumer has committed its offsets")
    return side


def _has_committed(broker: Broker) -> bool:
    answers = [
        broker.ask(
            Request(
                QUERY_CONSUMER_OFFSET,
                {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(queue)},
            )
        )
        for queue in range(QUEUES)
    ]
    return all((answer.ext or {}).get("offset") == str(MESSAGES // QUEUES) for answer in answers)
