"""Defines scenarios of consuming: how messages are shared, and what happens after failures."""

from typing import Final

from gantrymq.interop.clients.scenarios.scenario import Rows, bodies, numbered
from gantrymq.interop.clients.stage import Consumer, Message, Stage

TRIES: Final = 16

ROWS: Final = Rows()


@ROWS.add("a consumer goes on where its group was")
def go_on(stage: Stage) -> None:
    topic, group = stage.topic(), stage.name("group")
    first, second = numbered(topic, 20), numbered(topic, 30)[20:]
    producer, consumer = stage.producer(), stage.consumer(topic, group=group)
    producer.send(first)
    consumer.gets_exactly(bodies(first))
    consumer.stop()
    producer.send(second)
    stage.consumer(topic, group=group).gets_exactly(bodies(second))


@ROWS.add("broadcast", "broadcast")
def broadcast(stage: Stage) -> None:
    topic, group = stage.topic(), stage.name("group")
    two = [stage.consumer(topic, group=group, broadcast=True) for _ in range(2)]
    messages = numbered(topic, 20)
    stage.producer().send(messages)
    for consumer in two:
        consumer.gets_exactly(bodies(messages))


@ROWS.add("filter by tags")
def filter_by_tags(stage: Stage) -> None:
    topic = stage.topic()
    consumer = stage.consumer(topic, expression="a || c")
    stage.producer().send([Message(topic, f"{tag}{n}", tag) for n in range(5) for tag in "abc"])
    consumer.gets_exactly(f"{tag}{n}" for n in range(5) for tag in "ac")


@ROWS.add("filter by SQL92", "sql")
def filter_by_sql(stage: Stage) -> None:
    topic = stage.topic()
    expression = "n BETWEEN 3 AND 7 AND colour IN ('red', 'green') AND TAGS IS NOT NULL"
    consumer = stage.consumer(topic, expression=expression, sql=True)
    stage.producer().send(
        [
            Message(topic, f"{colour}{n}", "tag", properties={"n": str(n), "colour": colour})
            for n in range(10)
            for colour in ("red", "green", "blue")
        ]
    )
    consumer.gets_exactly(f"{colour}{n}" for n in range(3, 8) for colour in ("red", "green"))


@ROWS.add("pull", "pull")
def pull(stage: Stage) -> None:
    topic = stage.topic()
    messages = [Message(topic, f"{tag}{n}", tag) for n in range(50) for tag in "ab"]
    stage.producer().send(messages)
    found = stage.pulled(topic)
    assert sorted(bodies(found)) == sorted(bodies(messages))
    for queue in {each.queue for each in found}:
        offsets = [each.offset for each in found if each.queue == queue]
        assert offsets == list(range(len(offsets)))
    assert sorted(bodies(stage.pulled(topic, "b"))) == sorted(f"b{n}" for n in range(50))


@ROWS.add("lite pull: assigned queues, and seeking", "lite", "assign")
def lite_assigned(stage: Stage) -> None:
    topic = stage.topic()
    messages = numbered(topic, 40)
    stage.producer().send(messages)
    reader = stage.reader(topic, group=stage.name("group"), assign=True)
    reader.seek(0)
    reader.gets_exactly(bodies(messages))
    reader.seek(5)
    assert {each.offset for each in reader.poll(20)} == set(range(5, 10))


@ROWS.add("lite pull: subscribed, going on where the group was", "lite")
def lite_subscribed(stage: Stage) -> None:
    topic, group = stage.topic(), stage.name("group")
    first, second = numbered(topic, 40), numbered(topic, 60)[40:]
    producer, reader = stage.producer(), stage.reader(topic, group=group, assign=False)
    producer.send(first)
    reader.gets_exactly(bodies(first))
    reader.stop()
    producer.send(second)
    stage.reader(topic, group=group, assign=False).gets_exactly(bodies(second))


@ROWS.add("failed messages come again")
def come_again(stage: Stage) -> None:
    topic = stage.topic()
    (message,) = messages = numbered(topic, 1)
    stage.producer().send(messages)
    consumer = stage.consumer(topic, fails=2)
    consumer.gets_exactly(3 * [message.body])
    assert [(each.tries, each.topic) for each in consumer.received(3)] == [
        (0, topic),
        (1, topic),
        (2, topic),
    ]


@ROWS.add("16 tries, then the dead letter queue")
def dead_letters(stage: Stage) -> None:
    topic, group = stage.topic(), stage.name("group")
    (message,) = messages = numbered(topic, 1)
    stage.producer().send(messages)
    consumer = stage.consumer(topic, group=group, fails=-1)
    consumer.gets_exactly([message.body] * (1 + TRIES), seconds=90)
    assert [each.tries for each in consumer.received(1)] == list(range(1 + TRIES))
    (dead,) = stage.stored(f"%DLQ%{group}")
    assert message.body.encode() in dead


@ROWS.add("queues are shared out as consumers come and go")
def share_queues(stage: Stage) -> None:
    group = SharedTopic(stage)
    group.join()
    group.wait_for_shares(8)
    group.join()
    group.join()
    group.wait_for_shares(2, 3, 3)
    group.leave()
    group.wait_for_shares(4, 4)
    assert group.bodies() == set(bodies(group.sent))


class SharedTopic:
    """A topic of eight queues, and the group of consumers that share them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._topic = stage.topic(queues=8)
        self._group = stage.name("group")
        self._producer = stage.producer()
        self._members: list[Consumer] = []
        self._of_those_gone: set[str] = set()
        self.sent: list[Message] = []

    def join(self) -> None:
        """Add a member."""
        self._members.append(self._stage.consumer(self._topic, group=self._group))

    def leave(self) -> None:
        """Stop the oldest member."""
        member = self._members.pop(0)
        member.stop()
        self._of_those_gone |= set(bodies(member.received(0)))

    def bodies(self) -> set[str]:
        """The bodies that any member has received."""
        return self._of_those_gone.union(*(bodies(each.received(0)) for each in self._members))

    def wait_for_shares(self, *shares: int) -> None:
        """Send to all queues until each queue has one member and each member has its share."""
        self._stage.wait_until(
            lambda: sorted(map(len, self._queues_of_a_wave())) == list(shares),
            f"the queues are shared out as {shares}",
        )

    def _queues_of_a_wave(self) -> list[set[int]]:
        count = len(self.sent)
        wave = numbered(self._topic, count + 16)[count:]
        self._producer.send(wave)
        self.sent += wave
        expected = set(bodies(wave))
        self._stage.wait_until(lambda: expected <= self.bodies(), "the wave has come")
        return [
            {each.queue for each in member.received(0) if each.body in expected}
            for member in self._members
        ]
