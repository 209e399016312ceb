"""Tests pull consumers on asyncio, against servers on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gantrymq.client.aio.pull_consumer import PullConsumer
from gantrymq.client.core.errors import MessageError, StateError
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.fakes.connections import some_turns
from gantrymq.fakes.servers import servers
from gantrymq.wire.bodies.shared import MessageQueue

FIRST = ConsumeFrom.FIRST_OFFSET


async def test_messages_are_iterated_and_their_progress_is_stored(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", "b", "c")
        name_server = running.name_server
        async with PullConsumer("G", name_servers=name_server, consume_from=FIRST) as consumer:
            consumer.subscribe("T")
            found = []
            async for message in consumer:
                found.append(message.body)
                if len(found) == 2:
                    break
        assert found == [b"a", b"b"]
        async with PullConsumer("G", name_servers=name_server) as consumer:
            consumer.subscribe("T")
            assert [each.body for each in await consumer.poll(10.0)] == [b"c"]


async def test_messages_of_a_failing_block_are_delivered_again(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a")
        consumer = PullConsumer("G", name_servers=running.name_server, consume_from=FIRST)
        queue = MessageQueue("T", "broker-a", 0)

        async def fail() -> None:
            async with consumer:
                await consumer.assign([queue])
                assert len(await consumer.poll(10.0)) == 1
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        async with PullConsumer("G", name_servers=running.name_server) as again:
            await again.assign([queue])
            assert [each.body for each in await again.poll(10.0)] == [b"a"]


async def test_the_end_of_a_consumer_ends_its_iteration(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a")
        consumer = PullConsumer("G", name_servers=running.name_server, consume_from=FIRST)
        consumer.subscribe("T")
        await consumer.start()

        found: asyncio.Queue[bytes] = asyncio.Queue()

        async def read() -> None:
            async for message in consumer:
                found.put_nowait(message.body)

        reading = asyncio.ensure_future(read())
        assert await found.get() == b"a"
        await some_turns()  # it waits for more
        await consumer.close()
        await asyncio.wait_for(reading, 30.0)
        assert found.empty()
        await consumer.close()


async def test_queues_and_moments(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", "b")
        async with PullConsumer("G", name_servers=running.name_server) as consumer:
            queues = await consumer.fetch_message_queues("T")
            assert [queue.queue_id for queue in queues] == [0, 1, 2, 3]
            await consumer.assign(queues)
            await consumer.seek(queues[0], 1)
            assert [each.body for each in await consumer.poll(10.0)] == [b"b"]
            await consumer.seek_to_begin(queues[0])
            assert len(await consumer.poll(10.0)) == 2
            await consumer.commit()
            assert await consumer.committed(queues[0]) == 2
            assert await consumer.offset_for_timestamp(queues[0], 1) == 0


async def test_broadcast_progress_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKETMQ_CLIENT_LOCALOFFSETSTOREDIR", str(tmp_path / "offsets"))
    async with servers(tmp_path) as running:
        await running.store("a", "b")
        async with PullConsumer(
            "G",
            name_servers=running.name_server,
            consume_from=FIRST,
            broadcasting=True,
            client_ip="127.0.0.1",
            instance_name="one",
        ) as consumer:
            consumer.subscribe("T")
            assert len(await consumer.poll(10.0)) == 2
    file = tmp_path / "offsets" / "127.0.0.1@one" / "G" / "offsets.json"
    assert b'"queueId":0,\n\t\t\t"topic":"T"\n\t\t}:2' in file.read_bytes()


async def test_names_of_a_namespace_are_the_users(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", topic="ns%T")
        async with PullConsumer(
            "G", name_servers=running.name_server, consume_from=FIRST, namespace="ns"
        ) as consumer:
            consumer.subscribe("T")
            (message,) = await consumer.poll(10.0)
            assert (message.topic, message.queue.topic) == ("T", "ns%T")


async def test_use_before_the_start_is_refused() -> None:
    consumer = PullConsumer("G", name_servers="127.0.0.1:1")
    with pytest.raises(StateError, match="start it first"):
        await consumer.poll()
    with pytest.raises(MessageError, match="group"):
        PullConsumer("bad group")
    await consumer.close()
