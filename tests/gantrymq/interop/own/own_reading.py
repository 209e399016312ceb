"""Defines scenarios of Gantry's pull consumer: its queues, start offsets and progress."""

import asyncio
import re
import time
from typing import Final

import pytest

from gantrymq.client import (
    BrokerError,
    Message,
    MessageQueue,
    PullConsumer,
    ReceivedMessage,
    StateError,
)
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import OwnStage, bodies, by_queue, until
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import ResponseCode

ROWS: Final = OwnRows()


async def fill(stage: OwnStage, topic: str, count: int, first: int = 0) -> list[str]:
    """Send numbered messages round robin to the queues."""
    producer = await stage.producer()
    queues = await producer.queues(topic)
    texts = [str(n) for n in range(first, first + count)]
    for text in texts:
        queue = queues[int(text) % len(queues)]
        await producer.send(Message(topic, text), queue=queue)
    return texts


async def read(consumer: PullConsumer, count: int, seconds: float = 20.0) -> list[str]:
    """Return polled messages: that many, or those within the time."""
    found: list[str] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        found += bodies(await consumer.poll(timeout_s=0.3))
    return found


async def read_all(consumer: PullConsumer, count: int) -> list[str]:
    """Return that many messages, and those of one more second."""
    return [*await read(consumer, count), *bodies(await consumer.poll(timeout_s=1.0))]


@ROWS.add("lite pull: commits are what brokers, `mqadmin consumerProgress` and a restart see")
async def commits(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(2), stage.name("group"), await stage.admin()
    await fill(stage, topic, 40)
    reader = await stage.reader(group, auto_commit=False, pull_batch=5)
    reader.subscribe(topic)
    assert len(await read(reader, 40)) == 40
    queues = reader.assignment
    await reader.commit({queues[0]: 7, queues[1]: 20})
    assert [await reader.committed(queue) for queue in queues] == [7, 20]

    async def is_known() -> bool:
        try:
            await admin.groups.progress(group, topic)
        except BrokerError as error:
            if error.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            return False
        return True

    await until(is_known, "the broker has registered the retry topic of the group")
    progress = (await admin.groups.progress(group, topic)).queues
    assert {queue: each.consumer_offset for queue, each in progress.items()} == {
        queues[0]: 7,
        queues[1]: 20,
    }
    printed = await stage.mqadmin("consumerProgress", "-g", group)
    rows = re.findall(rf"^{topic} +\S+ +(\d+) +20 +(\d+) ", printed, re.MULTILINE)
    assert sorted(rows) == [("0", "7"), ("1", "20")], printed
    await reader.close()
    again = await stage.reader(group)
    again.subscribe(topic)
    assert sorted(await read(again, 13), key=int) == [str(n) for n in range(14, 40, 2)]
    assert await again.poll(timeout_s=1.0) == []


@ROWS.add("lite pull: what a poll before handed out is committed, at the latest by closing")
async def automatic_commits(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(1), stage.name("group"), await stage.admin()
    await fill(stage, topic, 30)
    (queue,) = (await admin.topics.stats(topic)).queues

    async def is_at(offset: int) -> bool:
        return await admin.offsets.of(stage.broker.address, group, queue) == offset

    async with PullConsumer(group, **stage.keywords(), auto_commit_s=1.0, pull_batch=10) as reader:
        reader.subscribe(topic)
        assert await read(reader, 10) == [str(n) for n in range(10)]
        assert await read(reader, 10) == [str(n) for n in range(10, 20)]
        await until(lambda: is_at(10), "what was handed out first is committed")
    assert await is_at(20)


@ROWS.add("lite pull: seek, to a time as well; pause and resume")
async def seek_and_pause(stage: OwnStage) -> None:
    topic, group = await stage.topic(2), stage.name("group")
    await fill(stage, topic, 20)
    reader = await stage.reader(group)
    queues = await reader.fetch_message_queues(topic)
    await reader.assign(queues)
    assert len(await read(reader, 20)) == 20
    await asyncio.sleep(1.0)
    await fill(stage, topic, 10, first=20)
    later: list[ReceivedMessage] = []
    while len(later) < 10:
        later += await reader.poll(timeout_s=0.3)
    # 4.9's broker takes the message next to a moment, before it or after it.
    moment_ms = min(each.stored_ms for each in later) - 1
    for queue in queues:
        assert await reader.offset_for_timestamp(queue, moment_ms) == 10
        await reader.seek(queue, await reader.offset_for_timestamp(queue, moment_ms))
    assert sorted(await read(reader, 10)) == [str(n) for n in range(20, 30)]
    reader.pause(queues[:1])
    await reader.seek_to_begin(queues[0])
    await reader.seek_to_begin(queues[1])
    assert await read_all(reader, 15) == [str(n) for n in range(1, 30, 2)]
    await reader.seek_to_end(queues[1])
    reader.resume(queues[:1])
    assert await read_all(reader, 15) == [str(n) for n in range(0, 30, 2)]
    with pytest.raises(StateError, match="0"):
        await reader.seek(queues[0], 16)  # behind the end


@ROWS.add("lite pull: assigned by two, each gets all; subscribed by two, each gets its share")
async def assigned_and_shared(stage: OwnStage) -> None:
    topic, group = await stage.topic(4), stage.name("group")
    texts = await fill(stage, topic, 40)
    readers = [await stage.reader(group), await stage.reader(group)]
    for reader in readers:
        await reader.assign(await reader.fetch_message_queues(topic))
    for reader in readers:
        assert sorted(await read(reader, 40), key=int) == texts
    shared = stage.name("group")
    members = [await stage.reader(shared), await stage.reader(shared)]
    for member in members:
        member.subscribe(topic)
    await until(
        lambda: [len(member.assignment) for member in members] == [2, 2], "each has its share"
    )
    assert {*members[0].assignment, *members[1].assignment} == {
        MessageQueue(topic, stage.broker.broker_name, number) for number in range(4)
    }
    later = await fill(stage, topic, 40, first=40)
    found: set[str] = set()

    async def has_all() -> bool:
        for member in members:
            found.update(bodies(await member.poll(timeout_s=0.3)))
        return set(later) <= found

    await until(has_all, "both together are handed all")


@ROWS.add("lite pull: a topic that gets more queues, told to a listener and read")
async def more_queues(stage: OwnStage) -> None:
    topic, group, admin = await stage.topic(1), stage.name("group"), await stage.admin()
    told: list[int] = []
    reader = await stage.reader(group, queue_check_s=0.5)
    reader.on_queues_changed(topic, lambda topic, queues: told.append(len(queues)))
    reader.subscribe(topic)
    await fill(stage, topic, 2)
    assert await read(reader, 2) == ["0", "1"]
    (changed,) = (await admin.topics.create([stage.broker.address], TopicConfig(topic, 3, 3))).all()
    assert changed == stage.broker.address
    while not told or told[-1] != 3 or len(reader.assignment) != 3:
        await reader.poll(timeout_s=0.1)
    texts = await fill(stage, topic, 9, first=3)
    found: list[ReceivedMessage] = []
    while len(found) < 9:
        found += await reader.poll(timeout_s=0.3)
    assert sorted(bodies(found), key=int) == texts
    assert sorted(by_queue(found)) == [0, 1, 2]
