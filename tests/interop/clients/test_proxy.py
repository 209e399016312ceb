"""Tests RocketMQ's proxy in cluster mode before Gantry's servers, with gRPC clients."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer
from gantrymq.interop.broker_kinds import BrokerKind, running
from gantrymq.interop.clients.drivers import JavaClient
from gantrymq.interop.clients.proxy import GrpcClient, Proxy
from gantrymq.interop.own.own_stage import Inbox
from gantrymq.interop.releases import GRPC_CLIENT, NEWEST
from gantrymq.interop.servers import Broker
from gantrymq.interop.wire import Request

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

UPDATE_GROUP = 200
WAIT_MILLIS = 40_000
HIDDEN_MILLIS = 10_000  # the driver's value; a proxy allows no less
DELAY_MILLIS = 4_000
COUNT = 16
NO_EXPRESSION: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Setup:
    """A gRPC client at a proxy, and the broker behind it."""

    broker: Broker
    proxy: Proxy
    client: GrpcClient

    def topic(self, name: str, kind: str = "NORMAL") -> str:
        """Create a topic for messages of this kind; returns its name."""
        self.broker.create_topic(name, attributes=f"+message.type={kind}")
        return name

    def pop(
        self,
        topic: str,
        count: int,
        then: str,
        expression: Mapping[str, str] = NO_EXPRESSION,
        millis: int = WAIT_MILLIS,
    ) -> Sequence[Mapping[str, object]]:
        """The messages that a simple consumer of the topic's own group receives, and acks or
        hides."""
        order = {"consumer": f"{topic}Group", "then": then, "millis": millis, **expression}
        return self.client.messages("pop", topic, count=count, **order)

    def subscribe(self, topic: str, *, failures: int = 0, orderly: bool = False) -> None:
        """Start a push consumer of the topic's own group, which fails so often first."""
        group = {"groupName": f"{topic}Group", "consumeMessageOrderly": orderly}
        answer = self.broker.ask(Request(UPDATE_GROUP, body=json.dumps(group).encode()))
        assert answer.code == 0, answer
        self.client.ask("subscribe", topic, consumer=f"{topic}Group", failures=failures)

    def received(
        self, topic: str, count: int, millis: int = WAIT_MILLIS
    ) -> Sequence[Mapping[str, object]]:
        """The messages that the push consumer received."""
        order = {"consumer": f"{topic}Group", "millis": millis}
        return self.client.messages("received", topic, count=count, **order)


@pytest.fixture(scope="module")
def setup(folder: Callable[[str], Path]) -> Iterator[Setup]:
    with (
        running(BrokerKind.GANTRY, folder) as broker,
        Proxy(NEWEST, folder("proxy"), broker.name_servers[0]) as proxy,
        GrpcClient(GRPC_CLIENT, folder("grpc-client"), proxy) as client,
    ):
        yield Setup(broker, proxy, client)


def bodies(messages: Sequence[Mapping[str, object]]) -> list[int]:
    return [int(str(message["body"])) for message in messages]


def test_a_simple_consumer_receives_each_message_once(setup: Setup) -> None:
    topic = setup.topic("ProxyPop")
    setup.client.ask("send", topic, count=COUNT)
    found = setup.pop(topic, COUNT, "ack")
    assert sorted(bodies(found)) == list(range(COUNT))
    assert {message["tag"] for message in found} == {"even", "odd"}
    assert all(message["properties"] == {"colour": "blue"} for message in found)
    assert setup.pop(topic, 1, "ack", millis=HIDDEN_MILLIS + 2_000) == []


def test_message_without_acknowledgement_is_delivered_again(setup: Setup) -> None:
    topic = setup.topic("ProxyHidden")
    setup.client.ask("send", topic, count=1)
    (first,) = setup.pop(topic, 1, "hide")
    (again,) = setup.pop(topic, 1, "ack")
    assert (first["id"], first["attempt"]) == (again["id"], 1)
    assert again["attempt"] == 2
    assert int(str(again["at"])) - int(str(first["at"])) >= HIDDEN_MILLIS - 1_000


@pytest.mark.parametrize(
    ("kind", "expression"), [("tags", "even"), ("sql", "TAGS = 'even' AND colour = 'blue'")]
)
def test_filters_choose_messages(setup: Setup, kind: str, expression: str) -> None:
    topic = setup.topic(f"ProxyFilter-{kind}")
    setup.client.ask("send", topic, count=COUNT)
    found = setup.pop(topic, COUNT // 2, "ack", {kind: expression})
    assert sorted(bodies(found)) == list(range(0, COUNT, 2))


def test_push_consumer_retries_failed_messages(setup: Setup) -> None:
    topic = setup.topic("ProxyRetry")
    setup.subscribe(topic, failures=1)
    setup.client.ask("send", topic, count=4)
    found = setup.received(topic, 8)
    assert sorted(bodies(found)) == sorted(2 * list(range(4)))
    assert sorted(int(str(message["attempt"])) for message in found) == [1] * 4 + [2] * 4


def test_messages_of_a_group_come_in_order(setup: Setup) -> None:
    topic = setup.topic("ProxyOrder", "FIFO")
    setup.subscribe(topic, orderly=True)
    setup.client.ask("send", topic, count=COUNT, group="order")
    found = setup.received(topic, COUNT)
    for remainder in (0, 1):
        numbers = [number for number in bodies(found) if number % 2 == remainder]
        assert numbers == list(range(remainder, COUNT, 2))


def test_a_delayed_message_comes_when_it_is_due(setup: Setup) -> None:
    topic = setup.topic("ProxyDelay", "DELAY")
    setup.subscribe(topic)
    due = int(time.time() * 1000) + DELAY_MILLIS
    setup.client.ask("send", topic, count=1, delayMillis=DELAY_MILLIS)
    (message,) = setup.received(topic, 1)
    assert int(str(message["at"])) >= due - 1_000  # timers have a precision of a second


def test_a_recalled_message_does_not_come(setup: Setup) -> None:
    topic = setup.topic("ProxyRecall", "DELAY")
    setup.subscribe(topic)
    setup.client.ask("recall", topic, delayMillis=DELAY_MILLIS)
    assert setup.received(topic, 1, millis=2 * DELAY_MILLIS) == []


def test_transactions_are_committed_rolled_back_and_checked(setup: Setup) -> None:
    topic = setup.topic("ProxyTransaction", "TRANSACTION")
    setup.subscribe(topic)
    setup.client.ask("transact", topic, count=COUNT)
    # Each fourth is left open: the broker checks it through the proxy, and the producer commits it.
    found = setup.received(topic, COUNT // 2)
    assert sorted(bodies(found)) == list(range(0, COUNT, 2))


def test_clients_of_the_older_protocol_are_served_at_the_proxys_other_port(
    setup: Setup, clients: Callable[[str], JavaClient]
) -> None:
    topic, client = setup.topic("ProxyRemoting"), clients(NEWEST)
    client.subscribe(topic, [setup.proxy.remoting])
    client.produce(topic, [setup.proxy.remoting], 100)
    received = client.received(topic, 100)
    assert (received.numbers, received.damaged) == (frozenset(range(100)), ())


def test_gantrys_client_is_served_at_the_proxys_other_port(setup: Setup) -> None:
    topic = setup.topic("ProxyOwn")
    asyncio.run(_send_and_receive(setup.proxy.remoting.address, topic))


async def _send_and_receive(proxy: str, topic: str) -> None:
    inbox, sent = Inbox(), [f"body {number}" for number in range(100)]
    producer = Producer("ProxyOwnProducers", name_servers=proxy)
    consumer = PushConsumer(
        "ProxyOwnGroup", name_servers=proxy, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    consumer.subscribe(topic, "*", inbox)
    async with producer, consumer:
        for body in sent:
            await producer.send(Message(topic, body.encode()))
        await inbox.gets_exactly(sent)
