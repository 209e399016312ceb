"""Defines scenarios of Gantry's producer: which messages are stored, where and in which order."""

import asyncio
from typing import Final

import pytest

from gantrymq.client import (
    CompressionType,
    Message,
    RouteError,
    Sending,
    SendMode,
    SendResult,
    SendStatus,
    by_key,
    split,
)
from gantrymq.interop import ports
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import Inbox, OwnStage, bodies, by_queue, stored, until
from gantrymq.wire.message.sys_flag import COMPRESSED

ROWS: Final = OwnRows()


@ROWS.add("`send_async`: gathered batches, each message where its result says, in order")
async def send_async(stage: OwnStage) -> None:
    topic, admin = await stage.topic(), await stage.admin()
    producer = await stage.producer()
    messages = [Message(topic, str(n), tag=f"t{n % 3}", keys=[f"k{n}"]) for n in range(2000)]
    sendings = [producer.send_async(message) for message in messages]
    results = [await sending for sending in sendings]
    assert {result.status for result in results} == {SendStatus.SEND_OK}
    records = await stored(admin, topic, len(messages))
    found = {(each.queue.queue_id, each.offset): each for each in records}
    assert len(found) == len(messages)
    for message, result in zip(messages, results, strict=True):
        each = found.pop((result.queue.queue_id, result.queue_offset))
        assert (each.body, each.tag, each.keys) == (message.body, message.tag, message.keys)
        assert each.id == result.message_id
    for each_queue in by_queue(records).values():
        numbers = [int(body) for body in bodies(each_queue)]
        assert numbers == sorted(numbers)


@ROWS.add("`send_async_many`: a list gathered with others, each message where its result says")
async def send_async_many(stage: OwnStage) -> None:
    topic, admin = await stage.topic(), await stage.admin()
    producer = await stage.producer()
    sent = [str(n).encode() for n in range(1500)] + [b"long" * 2_000]
    others = [producer.send_async(Message(topic, f"other {n}")) for n in range(10)]
    results = await producer.send_async_many(topic, sent, tag="t", properties={"region": "eu"})
    for other in others:
        await other
    records = await stored(admin, topic, len(sent) + len(others))
    found = {(each.queue.queue_id, each.offset): each for each in records}
    for body, result in zip(sent, results, strict=True):
        each = found.pop((result.queue.queue_id, result.queue_offset))
        assert (each.body, each.tag, each.id) == (body, "t", result.message_id)
        assert each.properties["region"] == "eu"
    assert len(found) == len(others)


@ROWS.add("a callback when it is stored; asynchronous sends side by side")
async def callbacks(stage: OwnStage) -> None:
    topic, admin = await stage.topic(), await stage.admin()
    producer = await stage.producer()
    told: list[SendResult] = []

    def tell(sending: Sending) -> None:
        told.append(sending.result())

    for n in range(50):
        producer.send_async(Message(topic, f"soon {n}")).add_done_callback(tell)
    sends = [producer.send(Message(topic, f"{n}"), mode=SendMode.ASYNC) for n in range(50)]
    results = await asyncio.gather(*sends)
    await until(lambda: len(told) == 50, "all callbacks")
    ids = {each.id: each.body.decode() for each in await stored(admin, topic, 100)}
    assert [ids.pop(result.message_id) for result in results] == [str(n) for n in range(50)]
    assert [ids.pop(result.message_id) for result in told] == [f"soon {n}" for n in range(50)]
    assert ids == {}


@ROWS.add("`split`: parts of a list, each stored as a whole in one queue")
async def split_batches(stage: OwnStage) -> None:
    topic, admin = await stage.topic(), await stage.admin()
    producer = await stage.producer()
    messages = [Message(topic, f"{n:03}" + "x" * 20_000, keys=[f"k{n}"]) for n in range(100)]
    parts = list(split(messages, bytes_max=500_000))
    assert len(parts) > 3
    results = [await producer.send_batch(part) for part in parts]
    found = {each.id: each for each in await stored(admin, topic, len(messages))}
    assert len(found) == len(messages)
    for part, result in zip(parts, results, strict=True):
        records = [found[each] for each in result.message_id.split(",")]
        assert bodies(records) == [message.body.decode() for message in part]
        assert {each.queue.queue_id for each in records} == {result.queue.queue_id}
        first = result.queue_offset
        assert [each.offset for each in records] == list(range(first, first + len(part)))


@ROWS.add("`select=by_key`: one queue for each key, consumed in order")
async def ordered_keys(stage: OwnStage) -> None:
    topic, inbox = await stage.topic(8), Inbox()
    producer = await stage.producer()
    await stage.consumer(topic, inbox, orderly=True)
    queues: dict[str, set[int]] = {}
    for n in range(120):
        key = f"order {n % 12}"
        message = Message(topic, str(n), properties={"of": key})
        result = await producer.send(message, select=by_key, key=key)
        queues.setdefault(key, set()).add(result.queue.queue_id)
    assert {len(each) for each in queues.values()} == {1}
    await inbox.gets_exactly(str(n) for n in range(120))
    for key in queues:
        came = [int(each.body) for each in inbox.messages if each.properties["of"] == key]
        assert came == sorted(came)


@ROWS.add(
    "compression: zlib, LZ4 and Zstandard are stored compressed, and decompressed by the consumer"
)
async def compression(stage: OwnStage) -> None:
    topic, admin, inbox = await stage.topic(), await stage.admin(), Inbox()
    texts = {kind: f"{kind.name} größe " * 1000 for kind in CompressionType}
    for kind, text in texts.items():
        producer = await stage.producer(compression=kind)
        await producer.send(Message(topic, text))
        await producer.send_oneway(Message(topic, f"{kind.name} is short"))
    await stage.consumer(topic, inbox)
    await inbox.gets_exactly([*texts.values(), *(f"{kind.name} is short" for kind in texts)])
    for each in await stored(admin, topic, 6):
        is_packed = bool(each.record.sys_flag & COMPRESSED)
        assert is_packed == (len(each.body) > 4096)
        assert is_packed == (len(each.record.body) < len(each.body))


@ROWS.add("name servers: the first of the list is dead")
async def dead_name_server(stage: OwnStage) -> None:
    topic, inbox = await stage.topic(), Inbox()
    dead = f"127.0.0.1:{ports.free_port()}"
    servers = f"{dead};{stage.broker.name_server_addresses}"
    producer = await stage.producer(name_servers=servers)
    results = [await producer.send(Message(topic, str(n))) for n in range(8)]
    assert {result.status for result in results} == {SendStatus.SEND_OK}
    await stage.consumer(topic, inbox, name_servers=servers)
    await inbox.gets_exactly(str(n) for n in range(8))


@ROWS.add("a topic that must not be created is refused before anything is sent")
async def no_route(stage: OwnStage) -> None:
    producer = await stage.producer(default_topic="NoSuchDefault")
    topic = stage.name("nobody")
    with pytest.raises(RouteError, match=topic):
        await producer.send(Message(topic, b"?"))
    assert topic not in await (await stage.admin()).topics.names()
