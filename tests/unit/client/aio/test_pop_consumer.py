"""Tests pop consumers on asyncio, against servers on loopback."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from gantrymq.client.aio.pop_consumer import PopConsumer, PoppedMessage
from gantrymq.client.core.errors import RouteError, StateError
from gantrymq.fakes.servers import servers


def consumer_of(name_server: str) -> PopConsumer:
    consumer = PopConsumer(
        "G", name_servers=name_server, from_first=True, invisible_s=30.0, retry_s=0.0
    )
    consumer.subscribe("T")
    return consumer


async def test_a_block_acknowledges_and_a_failing_block_returns_the_message(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", "b")
        seen: list[bytes] = []

        async def work(message: PoppedMessage) -> None:
            async with message:
                seen.append(message.body)
                if seen == [b"a"]:
                    raise ZeroDivisionError

        async with consumer_of(running.name_server) as consumer:
            async for message in consumer:
                if not seen:
                    with pytest.raises(ZeroDivisionError):
                        await work(message)
                else:
                    await work(message)
                if len(seen) == 3:
                    break
            assert await consumer.receive(0.5) is None
        assert sorted(seen) == [b"a", b"a", b"b"]
        assert consumer.forgotten == 0


async def test_a_message_that_is_never_settled_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", "b", "c")
        async with consumer_of(running.name_server) as consumer:
            kept = [await consumer.receive(5.0), await consumer.receive(5.0)]
            assert await consumer.receive(5.0) is not None
            gc.collect()
            assert consumer.forgotten == 1
            assert "message never settled" in caplog.text
            await consumer.ack_all([message for message in kept if message is not None])
        del kept
        assert consumer.forgotten == 1


async def test_a_consumer_that_failed_to_start_is_closed() -> None:
    consumer = consumer_of("127.0.0.1:1")
    with pytest.raises(RouteError):
        await consumer.start()
    await consumer.close()
    with pytest.raises(StateError, match="maybe started once"):
        await consumer.start()


async def test_use_before_the_start_is_refused() -> None:
    consumer = PopConsumer("G", name_servers="127.0.0.1:1")
    with pytest.raises(StateError, match="start it first"):
        await consumer.receive()
    await consumer.close()
