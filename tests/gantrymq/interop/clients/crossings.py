"""Defines scenarios in which Java's client and Gantry's each do one part.

Each is played in both directions: one client sends, asks or leaves something, and the other client
receives, answers or continues.
"""

import json
from collections.abc import Callable
from typing import Final, TypeAlias

from gantrymq.interop.clients.scenarios.scenario import bodies, numbered
from gantrymq.interop.clients.stage import Delivery, Message, Stage
from gantrymq.interop.wire import Request

SET_MESSAGE_REQUEST_MODE: Final = 401

Crossing: TypeAlias = Callable[[Stage, Stage], None]


def what_one_sends_the_other_reads(sender: Stage, receiver: Stage) -> None:
    topic = sender.topic()
    large = "".join(f"größe {n} " for n in range(2_000))
    messages = [
        Message(topic, "日本", "größe", "schlüssel-✓", properties={"stadt": "Köln ✓ 東京"}),
        Message(topic, large, "tag", "key"),
        *numbered(topic, 10),
    ]
    producer = sender.producer()
    results = producer.send(messages)
    batch = [Message(topic, f"batch {n}", "tag", f"k{n}") for n in range(10)]
    producer.send(batch, "batch")
    consumer = receiver.consumer(topic)
    consumer.gets_exactly(bodies([*messages, *batch]))
    found = {each.body: each for each in consumer.received(1)}
    for message in (*messages, *batch):
        came = found[message.body]
        assert (came.tag, came.key) == (message.tag, message.key)
        assert came.properties.items() >= message.properties.items()
    for message, result in zip(messages, results, strict=True):
        came = found[message.body]
        assert (came.id, came.queue, came.offset) == (result.id, result.queue, result.offset)


def one_asks_the_other_replies(asker: Stage, replier: Stage) -> None:
    topic = asker.topic()
    producer, answering = asker.producer(), replier.producer()
    replier.consumer(topic, replier=answering.name)
    for n in range(3):
        assert producer.request(Message(topic, f"question {n}")) == f"re: question {n}"


def one_goes_on_where_the_other_was(first: Stage, second: Stage) -> None:
    topic, group = first.topic(), first.name("group")
    before, after = numbered(topic, 20), numbered(topic, 40)[20:]
    producer, consumer = first.producer(), first.consumer(topic, group=group)
    producer.send(before)
    consumer.gets_exactly(bodies(before))
    consumer.stop()
    producer.send(after)
    second.consumer(topic, group=group).gets_exactly(bodies(after))


def what_one_fails_at_the_other_gets(failing: Stage, helping: Stage) -> None:
    """A message that one consumer gave back goes to the consumer that then has the retry queue.

    It may also come as it was first sent: a consumer that stops commits its offset without waiting
    for an answer, and Java's broker lost that once on a machine that stood still for seconds.
    """
    topic, group = failing.topic(), failing.name("group")
    messages = numbered(topic, 4)
    failing.producer().send(messages)
    consumer = failing.consumer(topic, group=group, fails=-1)
    consumer.received(8)  # each of them at least once, and one of them at least twice
    consumer.stop()
    found = helping.consumer(topic, group=group)

    def given_back() -> list[Delivery]:
        return [each for each in found.received(0) if each.tries >= 1]

    helping.wait_until(
        lambda: set(bodies(given_back())) == set(bodies(messages)), "the other has them"
    )
    assert {each.topic for each in found.received(0)} == {topic}


def both_pop_one_group(one: Stage, other: Stage) -> None:
    topic, group = one.topic(), one.name("group")
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}
    answer = one.broker.ask(Request(SET_MESSAGE_REQUEST_MODE, body=json.dumps(mode).encode()))
    assert answer.code == 0, answer
    members = [stage.consumer(topic, group=group, pop=True) for stage in (one, other)]
    producer = one.producer()
    sent: list[Message] = []

    def both_have_some() -> bool:
        wave = numbered(topic, len(sent) + 40)[len(sent) :]
        producer.send(wave)
        sent.extend(wave)
        return all(member.received(0) for member in members)

    one.wait_until(both_have_some, "each of them gets some")

    def have_come() -> list[str]:
        return sorted(body for member in members for body in bodies(member.received(0)))

    one.wait_until(lambda: len(have_come()) >= len(sent), "all have come")
    assert have_come() == sorted(bodies(sent))


def what_we_compress_java_reads(java: Stage, own: Stage) -> None:
    topic = own.topic()
    texts = [f"{kind} größe " * 1000 for kind in ("ZLIB", "LZ4", "ZSTD")]
    for text in texts:
        own.producer(compression=text.split()[0]).send([Message(topic, text)])
    java.consumer(topic).gets_exactly(texts)


BOTH_WAYS: Final[tuple[Crossing, ...]] = (
    what_one_sends_the_other_reads,
    one_asks_the_other_replies,
    one_goes_on_where_the_other_was,
    what_one_fails_at_the_other_gets,
)
ONE_WAY: Final[tuple[Crossing, ...]] = (both_pop_one_group, what_we_compress_java_reads)
