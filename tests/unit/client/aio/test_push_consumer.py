"""Push consumers on asyncio, against servers on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gantrymq.client import LATER, SUCCESS, ConsumeFrom, Outcome, PushConsumer, ReceivedMessage
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
from gantrymq.fakes.servers import servers

FIRST = ConsumeFrom.FIRST_OFFSET


class Listener:
    """Ends when it was given this many messages."""

    def __init__(self, count: int, *outcomes: Outcome) -> None:
        self.bodies: list[bytes] = []
        self.ended = asyncio.Event()
        self._count = count
        self._outcomes = list(outcomes)

    def plain(self, messages: list[ReceivedMessage]) -> Outcome:
        self.bodies += [message.body for message in messages]
        if len(self.bodies) >= self._count:
            self.ended.set()
        return self._outcomes.pop(0) if self._outcomes else SUCCESS

    async def awaited(self, messages: list[ReceivedMessage]) -> Outcome:
        await asyncio.sleep(0)
        return self.plain(messages)


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("kind", ["plain", "awaited"])
async def test_a_listener_is_called_and_progress_is_stored(
    tmp_path: Path, kind: str, *, orderly: bool
) -> None:
    async with servers(tmp_path) as running:
        await running.store("a", "b", "c")
        names = running.name_server
        for more in (3, 1):
            listener = Listener(more)
            consumer = PushConsumer("G", name_servers=names, consume_from=FIRST, orderly=orderly)
            consumer.subscribe("T", "*", getattr(listener, kind))
            async with consumer:
                if more == 1:
                    await running.store("d")
                await asyncio.wait_for(listener.ended.wait(), 20)
            assert listener.bodies == ([b"a", b"b", b"c"] if more == 3 else [b"d"])


async def test_a_later_outcome_sends_the_message_back(tmp_path: Path) -> None:
    async with servers(tmp_path, messageDelayLevel="1s 1s 1s 1s") as running:
        await running.store("a")
        listener = Listener(2, LATER)
        async with PushConsumer(
            "G", name_servers=running.name_server, consume_from=FIRST
        ) as consumer:
            consumer.subscribe("T", "*", listener.plain)
            await asyncio.wait_for(listener.ended.wait(), 30)
            assert consumer.stats.given_back == 1
        assert listener.bodies == [b"a", b"a"]


async def test_wrong_use_of_a_consumer_is_explained(tmp_path: Path) -> None:
    consumer = PushConsumer("G", name_servers="127.0.0.1:1")
    with pytest.raises(StateError, match="start it first"):
        consumer.status()
    with pytest.raises(SubscriptionError):
        consumer.subscribe("T", Sql(" "), Listener(1).plain)
    await consumer.close()
    async with servers(tmp_path) as running:
        async with PushConsumer("G", name_servers=running.name_server) as consumer:
            with pytest.raises(StateError, match="started once"):
                await consumer.start()
        await consumer.close()
