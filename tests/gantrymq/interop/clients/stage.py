"""Gives a scenario one client, one broker, and the client objects that it creates.

Every stage has its own names, so that scenarios run beside each other on one broker.
"""

import itertools
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Self

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.servers import Broker, fields
from gantrymq.interop.wire import Request

PULL_MESSAGE = 11
ARRIVE_SECONDS = 40.0  # for rebalances, route polls and a busy machine
QUIET_SECONDS = 1.5  # a message that would come twice comes soon


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send."""

    topic: str
    body: str
    tag: str = ""
    key: str = ""
    level: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of a send, as the producer reports it."""

    status: str
    id: str
    offset_id: str
    queue: int
    offset: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivered message, as the consumer reports it."""

    topic: str
    body: str
    tag: str
    key: str
    id: str
    queue: int
    offset: int
    tries: int
    properties: Mapping[str, str]
    at_ms: int


class Stage:
    """The environment of one scenario."""

    def __init__(
        self,
        client: Client,
        broker: Broker,
        name: str,
        credentials: Mapping[str, object] | None = None,
    ) -> None:
        """`credentials` are part of each order that creates a client object."""
        self.client = client
        self.broker = broker
        self._credentials = dict(credentials or {})
        self._name = name
        self._numbers = itertools.count(1)
        self._running: list[str] = []

    def name(self, what: str) -> str:
        """A unique name, of characters that every client and broker accepts."""
        return f"{what}-{self._name}-{next(self._numbers)}"

    def topic(self, queues: int = 4, prefix: str = "") -> str:
        """The name of a new topic."""
        topic = prefix + self.name("topic")
        self.broker.create_topic(topic, queues)
        return topic

    def start(self, do: str, **details: object) -> str:
        """Create a client object; returns its name."""
        name = self.name(do)
        self._running.append(name)
        cluster = {"namesrv": self.broker.name_server_addresses}
        self.ask(do, name, {**cluster, **self._credentials, **details})
        return name

    def stop(self, name: str) -> None:
        """End a client object cleanly."""
        self._running.remove(name)
        self.ask("stop", name, {})

    def ask(
        self, do: str, name: str, details: Mapping[str, object], seconds: float = 0.0
    ) -> object:
        """Send an order to a client object; it may take that many seconds by itself."""
        return self.client.ask({"do": do, "as": name, **details}, seconds)

    def producer(self, **details: object) -> "Producer":
        """A producer with a group of its own."""
        return Producer(self, self.start("produce", **{"group": self.name("group"), **details}))

    def consumer(self, topic: str, **details: object) -> "Consumer":
        """A push consumer that starts with the first message; in a group of its own by default."""
        defaults = {
            "group": self.name("group"),
            "topic": topic,
            "expression": "*",
            "from": "CONSUME_FROM_FIRST_OFFSET",
            "fails": 0,
        }
        return Consumer(self, self.start("consume", **{**defaults, **details}))

    def reader(self, topic: str, *, group: str, assign: bool) -> "Reader":
        """A lite pull consumer."""
        return Reader(self, self.start("read", topic=topic, group=group, assign=assign), topic)

    def pulled(self, topic: str, expression: str = "*") -> list[Delivery]:
        """All messages of a topic, by an old pull consumer."""
        where = {"namesrv": self.broker.name_server_addresses, "group": self.name("group")}
        order = {"topic": topic, "expression": expression, **where}
        return deliveries(self.ask("pull", self.name("pull"), order))

    def stored(self, topic: str) -> list[bytes]:
        """The records of the topic's first queue, including those that this client cannot read.

        Some clients cannot read dead letters.
        """
        self.wait_until(lambda: self.broker.is_routed(topic), f"{topic} is there")
        ext = {"consumerGroup": self.name("group"), "topic": topic, "queueId": "0"}
        now = {"queueOffset": "0", "commitOffset": "0", "suspendTimeoutMillis": "0"}
        all_of_it = {"maxMsgNums": "32", "sysFlag": "4", "subscription": "*", "subVersion": "0"}
        answer = self.broker.ask(Request(PULL_MESSAGE, {**ext, **now, **all_of_it}))
        assert answer.code == 0, answer
        return list(_records(answer.body))

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition that takes time."""
        wait_until(condition, what, ARRIVE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._running:
            self.stop(self._running[-1])


@dataclass(frozen=True, slots=True)
class Producer:
    """A running producer."""

    stage: Stage
    name: str

    def send(self, messages: Sequence[Message], mode: str = "sync") -> list[Sent]:
        """Send; asserts that confirmed messages are confirmed as stored."""
        answer = self._ask("send", mode=mode, messages=[asdict(each) for each in messages])
        assert isinstance(answer, list)
        results = [_sent(each) for each in answer]
        assert [result for result in results if result.status != "SEND_OK"] == []
        return results

    def transact(self, message: Message, *decisions: str) -> Sent:
        """Send in a transaction, with the first decision and the decision at each check."""
        return _sent(self._ask("transact", message=asdict(message), decisions=decisions))

    def checks(self, message: Message) -> int:
        """How often the broker has checked the transaction of this message."""
        return int(str(self._ask("checks", key=message.key)))

    def request(self, message: Message, millis: int = 20_000) -> str:
        """Send and wait for the reply; returns its body."""
        return str(self._ask("request", message=asdict(message), millis=millis))

    def view(self, topic: str, message_id: str) -> Delivery:
        """A message by its id, of either kind."""
        return _delivery(self._ask("view", topic=topic, key=message_id))

    def find(self, topic: str, key: str) -> list[Delivery]:
        """Messages by a key, once there are any."""
        return deliveries(self._ask("find", topic=topic, key=key))

    def stop(self) -> None:
        self.stage.stop(self.name)

    def _ask(self, do: str, **details: object) -> object:
        return self.stage.ask(do, self.name, details)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A running push consumer."""

    stage: Stage
    name: str

    def received(self, count: int, seconds: float = ARRIVE_SECONDS) -> list[Delivery]:
        """All received messages, once there are so many, or the time is over."""
        order = {"count": count, "millis": int(seconds * 1000)}
        return deliveries(self.stage.ask("received", self.name, order, seconds))

    def gets_exactly(self, bodies: Iterable[str], seconds: float = ARRIVE_SECONDS) -> None:
        """Assert that each body arrives as often as it is named, and no other."""
        expected = Counter(bodies)
        self.received(expected.total(), seconds)
        found = Counter(each.body for each in self.received(expected.total() + 1, QUIET_SECONDS))
        assert found == expected, f"lost {expected - found}, too many {found - expected}"

    def stop(self) -> None:
        self.stage.stop(self.name)


@dataclass(frozen=True, slots=True)
class Reader:
    """A running lite pull consumer."""

    stage: Stage
    name: str
    topic: str

    def poll(self, count: int, seconds: float = ARRIVE_SECONDS) -> list[Delivery]:
        """The received messages, until there are so many, or the time is over."""
        order = {"count": count, "millis": int(seconds * 1000)}
        return deliveries(self.stage.ask("poll", self.name, order, seconds))

    def gets_exactly(self, bodies: Sequence[str]) -> None:
        """Assert that each body arrives once, and no other."""
        found = [each.body for each in self.poll(len(bodies))]
        found += [each.body for each in self.poll(1, QUIET_SECONDS)]
        assert sorted(found) == sorted(bodies)

    def seek(self, offset: int) -> None:
        """Seek to this offset in every queue."""
        self.stage.ask("seek", self.name, {"topic": self.topic, "offset": offset})

    def stop(self) -> None:
        self.stage.stop(self.name)


def now_ms() -> int:
    """The wall clock, which the drivers' processes share."""
    return int(time.time() * 1000)


def deliveries(answer: object) -> list[Delivery]:
    """A driver's list of deliveries, parsed."""
    assert isinstance(answer, list), answer
    return [_delivery(each) for each in answer]


def _records(body: bytes) -> Iterator[bytes]:
    while body:
        (size,) = struct.unpack_from(">i", body)
        yield body[:size]
        body = body[size:]


def _delivery(answer: object) -> Delivery:
    told = fields(answer)
    properties = fields(told["properties"])
    return Delivery(
        topic=_text(told, "topic"),
        body=_text(told, "body"),
        tag=_text(told, "tag"),
        key=_text(told, "key"),
        id=_text(told, "id"),
        queue=_number(told, "queue"),
        offset=_number(told, "offset"),
        tries=_number(told, "tries"),
        properties={name: str(value) for name, value in properties.items()},
        at_ms=_number(told, "at_ms"),
    )


def _sent(answer: object) -> Sent:
    told = fields(answer)
    return Sent(
        status=_text(told, "status"),
        id=_text(told, "id"),
        offset_id=_text(told, "offset_id"),
        queue=_number(told, "queue"),
        offset=_number(told, "offset"),
    )


def _text(told: Mapping[str, object], name: str) -> str:
    return str(told.get(name) or "")


def _number(told: Mapping[str, object], name: str) -> int:
    """A number in an answer; -1 if the library does not report it."""
    return int(str(told.get(name, -1)))
