"""Defines scenarios of Gantry's pop consumer: acknowledgements and redeliveries."""

import asyncio
import time
from typing import Final

import pytest

from gantrymq.client import Message, PopConsumer, PoppedMessage, Sql
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import OwnStage, until

AGAIN_SECONDS: Final = 30.0

ROWS: Final = OwnRows()


async def send_all(stage: OwnStage, topic: str, texts: list[str], tag: str = "") -> None:
    producer = await stage.producer()
    for text in texts:
        await producer.send(Message(topic, text, tag=tag, properties={"length": str(len(text))}))


async def pop(consumer: PopConsumer, count: int, seconds: float = 20.0) -> list[PoppedMessage]:
    """Return received messages: that many, or those within the time."""
    found: list[PoppedMessage] = []
    end = time.monotonic() + seconds
    while len(found) < count:
        popped = await consumer.receive(max(0.0, end - time.monotonic()))
        if popped is None:
            break
        found.append(popped)
    return found


def texts_of(found: list[PoppedMessage]) -> list[str]:
    return sorted(each.body.decode() for each in found)


@ROWS.add("pop: what is acknowledged, one by one or many at once, is gone", "pop")
async def acknowledged(stage: OwnStage) -> None:
    topic, group = await stage.topic(), stage.name("group")
    texts = [f"{n:02}" for n in range(40)]
    await send_all(stage, topic, texts)
    consumer = await stage.popper(topic, group=group, invisible_s=10.0)
    found = await pop(consumer, 40)
    assert texts_of(found) == texts
    for popped in found[:10]:
        await popped.ack()
    await consumer.ack_all(found[10:])
    assert await pop(consumer, 1, seconds=15.0) == []
    assert consumer.forgotten == 0


@ROWS.add("pop: an unacknowledged message is delivered again after its invisible time", "pop")
async def comes_again(stage: OwnStage) -> None:
    topic, group = await stage.topic(), stage.name("group")
    await send_all(stage, topic, ["kept", "acked"])
    consumer = await stage.popper(topic, group=group, invisible_s=6.0)
    began = time.monotonic()
    for popped in await pop(consumer, 2):
        if popped.body == b"acked":
            await popped.ack()
        else:
            popped.is_settled = True  # without a request to the broker
    (again,) = await pop(consumer, 1, AGAIN_SECONDS)
    assert time.monotonic() - began > 5.5
    assert again.body == b"kept"
    assert again.message.topic == topic
    assert again.message.reconsume_times == 1
    await again.ack()
    assert await pop(consumer, 1, seconds=6.0) == []


@ROWS.add("pop: a block that fails gives back, `keep` gives more time", "pop")
async def given_back(stage: OwnStage) -> None:
    topic, group = await stage.topic(), stage.name("group")
    await send_all(stage, topic, ["failing", "slow"])
    consumer = await stage.popper(
        topic,
        group=group,
        invisible_s=8.0,
    )
    consumer.retry_s = 1.0
    first = {each.body: each for each in await pop(consumer, 2)}
    slow, failing = first[b"slow"], first[b"failing"]
    kept_at = time.monotonic()
    await slow.keep(20.0)
    with pytest.raises(ZeroDivisionError):
        async with failing:
            _ = 1 / 0
    failed_at = time.monotonic()
    (again,) = await pop(consumer, 1, AGAIN_SECONDS)
    assert again.body == b"failing"
    assert 0.8 < time.monotonic() - failed_at < AGAIN_SECONDS
    await again.ack()
    assert time.monotonic() - kept_at < 20.0, "too slow a machine to judge"
    await slow.ack()
    assert await pop(consumer, 1, seconds=max(5.0, kept_at + 24.0 - time.monotonic())) == []


@ROWS.add("pop: two members share one by one, of one queue too", "pop")
async def shared(stage: OwnStage) -> None:
    topic, group = await stage.topic(1), stage.name("group")
    members = [await stage.popper(topic, group=group, count=4) for _ in range(2)]
    texts = [f"{n:02}" for n in range(60)]
    found: list[list[str]] = [[], []]

    async def work(number: int) -> None:
        async for popped in members[number]:
            async with popped:
                await asyncio.sleep(0.01)
            found[number].append(
                popped.body.decode()
            )  # acknowledged, so that the close loses nothing

    working = [asyncio.create_task(work(number)) for number in range(2)]
    await send_all(stage, topic, texts)
    await until(lambda: sum(map(len, found)) >= len(texts), "all have come")
    for member in members:
        await member.close()
    await asyncio.gather(*working)
    assert sorted(found[0] + found[1]) == texts
    assert all(found)


@ROWS.add("pop: filters by tags and by SQL92, and a group that begins with what is sent now", "pop")
async def filtered(stage: OwnStage) -> None:
    topic = await stage.topic()
    late = await stage.popper(topic, group=stage.name("group"), from_first=False)
    assert await pop(late, 1, seconds=1.0) == []
    await send_all(stage, topic, ["a", "aa", "aaa"], tag="a")
    await send_all(stage, topic, ["b", "bb", "bbb"], tag="b")
    tagged = await stage.popper(topic, group=stage.name("group"), expression="b || c")
    large = await stage.popper(topic, group=stage.name("group"), expression=Sql("length > 2"))
    for consumer, texts in (
        (tagged, ["b", "bb", "bbb"]),
        (large, ["aaa", "bbb"]),
        (late, ["a", "aa", "aaa", "b", "bb", "bbb"]),
    ):
        found = await pop(consumer, len(texts))
        found += await pop(consumer, 1, seconds=1.0)
        assert texts_of(found) == sorted(texts)
        await consumer.ack_all(found)
