"""Defines scenarios of Gantry's push consumer: failures, order, locks and start offsets."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from gantrymq.client import (
    COMMIT,
    ROLLBACK,
    Admin,
    ConsumeFrom,
    Later,
    Message,
    MessageQueue,
    Outcome,
    ReceivedMessage,
    Sql,
    Suspend,
)
from gantrymq.interop.clients.stage import QUIET_SECONDS
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import Inbox, OwnStage, bodies, by_queue, stored, until
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.jsonvalue import object_of

SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
LEVELS: Final = range(1, 7)

OFFSETS_VARIABLE: Final = "ROCKETMQ_CLIENT_LOCALOFFSETSTOREDIR"

ROWS: Final = OwnRows()


async def send_all(stage: OwnStage, topic: str, texts: list[str]) -> None:
    producer = await stage.producer()
    for text in texts:
        await producer.send(Message(topic, text))


async def levels_of(stage: OwnStage, admin: Admin, text: str) -> list[int]:
    """The delay levels with which a message was stored."""
    address = stage.broker.address
    found = []
    for level in LEVELS:
        delayed = MessageQueue(SCHEDULE, stage.broker.broker_name, level - 1)
        offset = await admin.offsets.first(address, delayed)
        end = await admin.offsets.end(address, delayed)
        while offset < end:
            pulled = await admin.messages.pull(address, delayed, offset)
            found += [level for each in pulled.messages if each.body.decode() == text]
            offset = pulled.next_offset
    return found


@ROWS.add("a listener that raises: again at level 3, 4, 5; `Later(level=2)`: again at level 2")
async def retry_levels(stage: OwnStage) -> None:
    topic, admin = await stage.topic(), await stage.admin()
    raised, chosen = f"{topic}/raised", f"{topic}/chosen"

    def fail(message: ReceivedMessage) -> Outcome:
        if message.reconsume_times == 3:
            return None
        if message.body.decode() == chosen:
            return Later(level=2)
        raise ValueError("not yet")

    inbox = Inbox(fail)
    await stage.consumer(topic, inbox)
    await send_all(stage, topic, [raised, chosen])
    await inbox.gets_exactly([raised] * 4 + [chosen] * 4)
    assert await levels_of(stage, admin, raised) == [3, 4, 5]
    assert await levels_of(stage, admin, chosen) == [2, 2, 2]
    for text in (raised, chosen):
        tries = [each for each in inbox.messages if each.body.decode() == text]
        assert [each.reconsume_times for each in tries] == [0, 1, 2, 3]
        assert {each.topic for each in tries} == {topic}


@ROWS.add("dead letters: after `max_reconsume_times`, and at once by `Later(level=-1)`")
async def dead_letters(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(), stage.name("group"), await stage.admin()
    tried, given_up = f"{topic}/tried", f"{topic}/given up"

    def fail(message: ReceivedMessage) -> Outcome:
        return Later(level=-1 if message.body.decode() == given_up else 0)

    dead, inbox = f"%DLQ%{group}", Inbox(fail)

    async def is_there() -> bool:
        return dead in await admin.topics.names()

    await stage.consumer(topic, inbox, group=group, max_reconsume_times=2)
    await send_all(stage, topic, [tried, given_up])
    await inbox.gets_exactly([tried] * 3 + [given_up])
    await until(is_there, "there are dead letters")
    letters = await stored(admin, dead, 2)
    assert sorted(bodies(letters)) == sorted([tried, given_up])
    sent = {each.body: each.id for each in await stored(admin, topic, 2)}
    for letter in letters:
        assert letter.properties["RETRY_TOPIC"] == topic
        assert letter.id == sent[letter.body]


@ROWS.add("orderly: `SUSPEND` holds its queue, the others go on; brokers hold the locks")
async def suspended(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(4), stage.name("group"), await stage.admin()
    producer = await stage.producer()
    queues = await producer.queues(topic)
    for n in range(40):
        await producer.send(Message(topic, str(n)), queue=queues[n % 4])

    def fail(message: ReceivedMessage) -> Outcome:
        is_stuck = message.body == b"4" and message.reconsume_times < 3
        return Suspend(1.0) if is_stuck else None

    inbox = Inbox(fail)
    consumer = await stage.consumer(topic, inbox, group=group, orderly=True)
    await inbox.gets_exactly([*map(str, range(40)), "4", "4", "4"])
    came = by_queue(inbox.messages)
    for place, queue in enumerate(queues):
        once = [int(body) for body, _ in groupby(bodies(came[queue.queue_id]))]
        assert once == list(range(place, 40, 4))
    last_of_others = max(place for place, body in enumerate(inbox.bodies) if int(body) % 4)
    assert last_of_others < inbox.bodies.index("8"), "they waited for the suspended queue"
    assert all(each.is_locked for each in consumer.status() if each.queue.topic == topic)
    (client,) = (await admin.connections.consumers(group)).connections
    told = await admin.connections.running(stage.broker.address, group, client.client_id)
    table = object_of(told["mqTable"], "mqTable").items()
    held = {
        MessageQueue.from_key(key) for key, each in table if object_of(each, "a queue")["locked"]
    }
    assert held >= set(queues)


@ROWS.add("orderly without auto commit: `ROLLBACK` brings all since the last `COMMIT` again")
async def roll_back(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(1), stage.name("group"), await stage.admin()
    answers: Iterator[Outcome] = iter((None, None, COMMIT, None, ROLLBACK, None, None, COMMIT))
    inbox = Inbox(lambda _: next(answers, None))
    await send_all(stage, topic, list("abcdef"))
    consumer = await stage.consumer(
        topic, inbox, group=group, orderly=True, auto_commit=False, suspend_s=0.2
    )
    await inbox.gets_exactly("abcdedef")
    assert inbox.bodies == list("abcdedef")
    await consumer.close()
    (queue,) = (await admin.topics.stats(topic)).queues
    assert await admin.offsets.of(stage.broker.address, group, queue) == 6


@ROWS.add("orderly: queues change hands between two members, none is consumed by both")
async def locks_change_hands(stage: OwnStage) -> None:
    topic, group = await stage.topic(4), stage.name("group")
    producer = await stage.producer()
    queues = await producer.queues(topic)
    first, second = Inbox(), Inbox()
    texts = [str(n) for n in range(200)]
    member = await stage.consumer(topic, first, group=group, orderly=True)
    for text in texts[:100]:
        await producer.send(Message(topic, text), queue=queues[int(text) % 4])
    await stage.consumer(topic, second, group=group, orderly=True)
    await until(lambda: len(member.status()) <= 3, "the first has given queues up")
    for text in texts[100:]:
        await producer.send(Message(topic, text), queue=queues[int(text) % 4])
    await until(lambda: {*first.bodies, *second.bodies} == set(texts), "all have come")
    assert len(first.bodies) + len(second.bodies) == len(texts)
    for inbox in (first, second):
        for messages in by_queue(inbox.messages).values():
            offsets = [each.offset for each in messages]
            assert offsets == sorted(offsets)


@ROWS.add("broadcast: the progress is a file of this machine, and a restart goes on there")
async def local_offsets(stage: OwnStage) -> None:
    topic, group = await stage.topic(), stage.name("group")
    keywords = stage.keywords()
    first, second = Inbox(), Inbox()
    await send_all(stage, topic, list("abcdefgh"))
    consumer = await stage.consumer(topic, first, group=group, broadcasting=True, **keywords)
    await first.gets_exactly("abcdefgh")
    await consumer.close()
    await send_all(stage, topic, list("ijkl"))
    await stage.consumer(topic, second, group=group, broadcasting=True, **keywords)
    await second.gets_exactly("ijkl")
    folder = Path(os.environ[OFFSETS_VARIABLE])
    (file,) = await asyncio.to_thread(lambda: list(folder.glob(f"*/{group}/offsets.json")))
    assert topic in file.read_text()
    progress = (await (await stage.admin()).groups.progress(group)).queues
    assert all(each.topic.startswith("%RETRY%") for each in progress), "brokers know of none"


@ROWS.add("where a new group begins: the first message, as brokers keep it; a time; a commit")
async def where_to_begin(stage: OwnStage) -> None:
    topic, admin, producer = await stage.topic(1), await stage.admin(), await stage.producer()
    await producer.send(Message(topic, "early"))
    (queue,) = (await admin.topics.stats(topic)).queues
    await asyncio.sleep(0.1)
    begun_ms = (await stored(admin, topic, 1))[0].stored_ms + 1
    await producer.send(Message(topic, "late"))
    first, last, timed, moved = Inbox(), Inbox(), Inbox(), Inbox()
    await stage.consumer(topic, first)
    # A broker that still has the first message of a queue starts every new group there.
    await stage.consumer(topic, last, consume_from=ConsumeFrom.LAST_OFFSET)
    await stage.consumer(
        topic, timed, consume_from=ConsumeFrom.TIMESTAMP, consume_timestamp_ms=begun_ms
    )
    group = stage.name("group")
    await admin.groups.create([stage.broker.address], GroupConfig(group_name=group))
    await admin.offsets.move(stage.broker.address, group, queue, 1)
    await stage.consumer(topic, moved, group=group)
    await asyncio.gather(
        first.gets_exactly(["early", "late"]),
        last.gets_exactly(["early", "late"]),
        timed.gets_exactly(["early", "late"]),
        moved.gets_exactly(["late"]),
    )


@ROWS.add("a filter that changes while the consumer runs: tags, SQL92, another topic, none")
async def change_filters(stage: OwnStage) -> None:
    topic, other, inbox = await stage.topic(), await stage.topic(), Inbox()
    producer = await stage.producer()
    consumer = await stage.consumer(topic, inbox, expression="a")

    async def send(text: str) -> None:
        for tag, size in (("a", "5"), ("b", "9")):
            for to, mark in ((topic, ""), (other, "2")):
                properties = {"size": size}
                message = Message(to, text + tag + mark, tag=tag, properties=properties)
                await producer.send(message)

    await send("1")
    await inbox.gets_exactly(["1a"])
    consumer.subscribe(topic, Sql("size > 6"), inbox)
    consumer.subscribe(other, "*", inbox)
    await send("2")
    # Messages that a pull with the old filter skipped or returned may arrive; wanted ones must.
    wanted, passed_over = {"1a", "2b", "1a2", "1b2", "2a2", "2b2"}, {"1b", "2a"}

    def lacking() -> str:
        queues = ", ".join(map(str, consumer.status()))
        return f"{sorted(wanted - set(inbox.bodies))}; {inbox.bodies} have come, of {queues}"

    await until(lambda: wanted <= set(inbox.bodies), lacking)
    consumer.unsubscribe(other)
    await until(
        lambda: not any(each.queue.topic == other for each in consumer.status()),
        lambda: f"{other} is given up, not {consumer.status()}",
    )
    await send("3")
    wanted.add("3b")
    await until(lambda: wanted <= set(inbox.bodies), lacking)
    await asyncio.sleep(QUIET_SECONDS)
    assert Counter(inbox.bodies) <= Counter({*wanted, *passed_over})
