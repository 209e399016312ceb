"""Defines scenarios of sending: which messages arrive, how often, and in which order."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from gantrymq.interop.clients.scenarios.scenario import Rows, bodies, numbered
from gantrymq.interop.clients.stage import Delivery, Message, Stage

ROWS: Final = Rows()


def _arrives(stage: Stage, mode: str, count: int) -> None:
    topic = stage.topic()
    consumer = stage.consumer(topic)
    messages = numbered(topic, count)
    results = stage.producer().send(messages, mode)
    places = [(each.queue, each.offset) for each in results if each.queue >= 0]
    assert len(set(places)) == len(places)
    consumer.gets_exactly(bodies(messages))


@ROWS.add("send and wait")
def send_and_wait(stage: Stage) -> None:
    _arrives(stage, "sync", 200)


@ROWS.add("send asynchronously", "async")
def send_asynchronously(stage: Stage) -> None:
    _arrives(stage, "async", 200)


@ROWS.add("send one way", "oneway")
def send_one_way(stage: Stage) -> None:
    _arrives(stage, "oneway", 200)


@ROWS.add("send a batch", "batch")
def send_a_batch(stage: Stage) -> None:
    _arrives(stage, "batch", 20)


@ROWS.add("choose the queue; orderly consumption", "select", "orderly")
def choose_the_queue(stage: Stage) -> None:
    """Each queue's messages arrive in the order in which they were sent."""
    topic = stage.topic()
    messages = sharded(topic, shards=4, count=80)
    stage.producer().send(messages, "select")
    consumer = stage.consumer(topic, orderly=True)
    consumer.gets_exactly(bodies(messages))
    assert_in_order(consumer.received(len(messages)), messages)


@ROWS.add("orderly consumption goes on where it failed", "select", "orderly", "local tries")
def fail_in_order(stage: Stage) -> None:
    """A message that fails is delivered again before the next message of its queue."""
    topic = stage.topic()
    messages = sharded(topic, shards=4, count=12)
    stage.producer().send(messages, "select")
    consumer = stage.consumer(topic, orderly=True, fails=2)
    consumer.gets_exactly(3 * bodies(messages))
    assert_in_order(consumer.received(len(messages)), messages)


def sharded(topic: str, shards: int, count: int) -> list[Message]:
    """Messages of several shards; each shard goes to one queue."""
    return [
        Message(topic, f"{topic}/{n}", properties={"shard": str(n % shards)}) for n in range(count)
    ]


def assert_in_order(found: Iterable[Delivery], sent: Iterable[Message]) -> None:
    """Assert the order of messages; repeated deliveries of one message count as one."""
    for shard in {each.properties["shard"] for each in sent}:
        came = [each.body for each in found if each.properties["shard"] == shard]
        expected = [each.body for each in sent if each.properties["shard"] == shard]
        assert [body for body, _ in groupby(came)] == expected


@ROWS.add("send to a topic that does not exist", "creation")
def create_by_sending(stage: Stage) -> None:
    topic = stage.name("auto")
    messages = numbered(topic, 8)
    producer = stage.producer()
    producer.send(messages)
    stage.consumer(topic).gets_exactly(bodies(messages))


@ROWS.add("a large compressed body")
def large_body(stage: Stage) -> None:
    topic = stage.topic()
    text = "".join(f"größe {n} " for n in range(10_000))
    stage.producer().send([Message(topic, text)])
    stage.consumer(topic).gets_exactly([text])


@ROWS.add("keys, tags and properties beyond ASCII")
def beyond_ascii(stage: Stage) -> None:
    topic = stage.topic()
    message = Message(topic, "日本", "größe", "schlüssel-✓", properties={"stadt": "Köln ✓ 東京"})
    stage.producer().send([message])
    (found,) = stage.consumer(topic).received(1)
    assert (found.body, found.tag, found.key) == (message.body, message.tag, message.key)
    assert found.properties["stadt"] == message.properties["stadt"]


@ROWS.add("namespaces", "namespaces")
def namespaces(stage: Stage) -> None:
    topic = stage.topic(prefix="room%").removeprefix("room%")
    messages = numbered(topic, 10)
    stage.producer(namespace="room").send(messages)
    consumer = stage.consumer(topic, namespace="room")
    consumer.gets_exactly(bodies(messages))
    # Java's client removes the namespace from delivered topics, other clients do not.
    assert {each.topic.removeprefix("room%") for each in consumer.received(1)} == {topic}
