"""Defines scenarios of traces and administration, compared with the real mqadmin."""

import asyncio
import re
from typing import Final

import pytest

from gantrymq.client import (
    BrokerError,
    ConsumeFrom,
    Message,
    NoReplyError,
    PushConsumer,
    ReceivedMessage,
    reply,
)
from gantrymq.client.core.message.namespace import TRACE_TOPIC
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import Inbox, OwnStage, bodies, until
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig

ROWS: Final = OwnRows()


@ROWS.add("traces of sending and consuming, as `mqadmin queryMsgTraceById` prints them")
async def traces(stage: OwnStage) -> None:
    topic, group, inbox = await stage.topic(), stage.name("group"), Inbox()
    admin, producer = await stage.admin(), await stage.producer(trace=True)
    await stage.consumer(topic, inbox, group=group, trace=True)
    result = await producer.send(Message(topic, "traced", keys=["key-of-it"]))
    await inbox.until(1)

    async def are_stored() -> bool:
        found = await admin.messages.by_key(TRACE_TOPIC, result.message_id)
        return {"Pub", "SubAfter"} <= {line for each in found for line in kinds(each)}

    await until(are_stored, "both have told")
    printed = await stage.mqadmin("queryMsgTraceById", "-i", result.message_id)
    for kind, name in (("Pub", producer.group), ("Sub", group)):
        assert re.search(rf"^{kind} +{name} .* success\s*$", printed, re.MULTILINE), printed


def kinds(trace: ReceivedMessage) -> list[str]:
    """The fields of the records in a trace message."""
    return [each.partition("\x01")[0] for each in trace.body.decode().split("\x02")]


@ROWS.add("administration: topics and groups made, changed, deleted")
async def make_and_delete(stage: OwnStage) -> None:
    admin, address = await stage.admin(), stage.broker.address
    topic, group = stage.name("made"), stage.name("group")

    async def is_known(topic: str) -> bool:
        return topic in await admin.topics.names()

    (await admin.topics.create([address], TopicConfig(topic, 3, 2))).all()
    (await admin.groups.create([address], GroupConfig(group_name=group, retry_max_times=5))).all()
    await until(lambda: is_known(topic), "name servers know the topic")
    made = (await admin.topics.configs(address))[topic]
    assert (made.read_queue_nums, made.write_queue_nums) == (3, 2)
    assert (await admin.groups.configs(address))[group].retry_max_times == 5
    assert len(await (await stage.producer()).queues(topic)) == 2
    (await admin.topics.delete(topic, [address])).all()
    # Without its offsets, a broker of 5.5.0 looks the deleted group up, and so creates it again.
    (await admin.groups.delete([address], group, with_offsets=True)).all()
    await admin.topics.forget(topic)
    assert topic not in await admin.topics.configs(address)
    assert group not in await admin.groups.configs(address)
    with pytest.raises(BrokerError, match="TOPIC_NOT_EXIST"):
        await admin.topics.route(topic)


@ROWS.add("administration: progress, and a reset to a time while the group runs")
async def progress_and_reset(stage: OwnStage) -> None:
    topic, group, inbox = await stage.topic(2), stage.name("group"), Inbox()
    admin, producer = await stage.admin(), await stage.producer()
    for n in range(10):
        await producer.send(Message(topic, f"before {n}"))
    await stage.consumer(topic, inbox, group=group)
    await inbox.until(10)
    await asyncio.sleep(1.0)
    for n in range(10):
        await producer.send(Message(topic, f"after {n}"))
    await inbox.until(20)

    async def is_done() -> bool:
        progress = (await admin.groups.progress(group, topic)).queues.values()
        return all(each.broker_offset == each.consumer_offset == 10 for each in progress)

    await until(is_done, "all is committed")
    # 4.9's broker takes the message next to a moment, before it or after it.
    moment_ms = min(each.stored_ms for each in inbox.messages[10:]) - 1
    offsets = await admin.offsets.reset(group, topic, moment_ms)
    assert sum(offsets.values()) == 10
    await inbox.gets_exactly(
        [f"before {n}" for n in range(10)] + 2 * [f"after {n}" for n in range(10)]
    )


@ROWS.add("administration: messages by offset id, unique key and key, as `mqadmin` finds them")
async def find(stage: OwnStage) -> None:
    topic, admin, producer = await stage.topic(), await stage.admin(), await stage.producer()
    results = [
        await producer.send(Message(topic, f"body {n}", keys=[f"{topic}-{n % 2}", f"other{n}"]))
        for n in range(6)
    ]
    last = results[-1]

    async def is_indexed() -> bool:
        return bool(await admin.messages.by_key(topic, last.message_id, is_unique=True))

    await until(is_indexed, "the index has the last one")
    for n, result in enumerate(results):
        assert (await admin.messages.by_offset_id(result.offset_message_id)).id == result.message_id
        (found,) = await admin.messages.by_key(topic, result.message_id, is_unique=True)
        assert found.body.decode() == f"body {n}"
    by_key = await admin.messages.by_key(topic, f"{topic}-1")
    assert sorted(bodies(by_key)) == ["body 1", "body 3", "body 5"]
    printed = await stage.mqadmin("queryMsgByKey", "-t", topic, "-k", f"{topic}-1")
    assert {each.id for each in by_key} == set(
        re.findall(r"^([0-9A-F]{32}) ", printed, re.MULTILINE)
    )
    one = await stage.mqadmin("queryMsgById", "-t", topic, "-i", last.offset_message_id)
    assert last.message_id in one


@ROWS.add("our consumer as operators see it: connection, queues and progress by `mqadmin`")
async def seen_by_operators(stage: OwnStage) -> None:
    topic, group, inbox = await stage.topic(2), stage.name("group"), Inbox()
    admin, producer = await stage.admin(), await stage.producer()
    consumer = await stage.consumer(topic, inbox, group=group, expression="a || b")
    for n in range(4):
        await producer.send(Message(topic, str(n), tag="a"))
    await inbox.until(4)
    (client,) = (await admin.connections.consumers(group)).connections
    assert client.language == "PYTHON"
    printed = await stage.mqadmin("consumerConnection", "-g", group)
    assert re.search(rf"{client.client_id} +\S+ +PYTHON ", printed), printed
    assert re.search(rf"{topic}\s+a \|\| b", printed), printed
    # mqadmin asks the client itself, through the broker.
    told = await stage.mqadmin("consumerStatus", "-g", group, "-i", client.client_id)
    for status in consumer.status():
        if status.queue.topic == topic:
            pattern = rf"{topic} +{stage.broker.broker_name} +{status.queue.queue_id} +(\d+) "
            (offset,) = re.findall(pattern, told)
            assert int(offset) == status.commit_offset == 2


@ROWS.add("requests and replies: many at once, and one without a reply")
async def requests(stage: OwnStage) -> None:
    topic, producer = await stage.topic(), await stage.producer()
    replier = await stage.producer()

    async def answer(messages: list[ReceivedMessage]) -> None:
        for each in messages:
            if each.body != b"silence":
                await replier.send(reply(each, each.body.upper()))

    consumer = PushConsumer(
        stage.name("group"), consume_from=ConsumeFrom.FIRST_OFFSET, **stage.keywords()
    )
    consumer.subscribe(topic, "*", answer)
    await stage.enter(consumer)
    asked = [producer.request(Message(topic, f"question {n}"), timeout_s=20.0) for n in range(20)]
    answers = await asyncio.gather(*asked)
    assert [each.body.decode() for each in answers] == [f"QUESTION {n}" for n in range(20)]
    with pytest.raises(NoReplyError):
        await producer.request(Message(topic, "silence"), timeout_s=1.0)
