"""A producer's core and the client it lives in: made at the start, ended with the last member."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, final

from gantrymq.client.aio.client import Client, join
from gantrymq.client.aio.configuration import choose
from gantrymq.client.aio.producer_keywords import PRODUCER_NAMES, ProducerKeywords
from gantrymq.client.aio.starting import Starting
from gantrymq.client.aio.world import World
from gantrymq.client.core.life import Life
from gantrymq.client.core.producer import ProducerCore, must_be_group
from gantrymq.client.core.producer_settings import ProducerSettings
from gantrymq.client.core.steps import Flow

T = TypeVar("T")


@final
class ProducerHost:
    """`start`, then `run`, then `close`."""

    def __init__(self, group: str, world: World, keywords: ProducerKeywords) -> None:
        must_be_group(group)
        self.group = group
        self.life = Life("producer")
        self._hooks = tuple(keywords.get("send_hooks", ()))
        given = {name: value for name, value in keywords.items() if name != "send_hooks"}
        chosen = choose(ProducerSettings, PRODUCER_NAMES, given)
        self._client_settings, self._identity, self.settings = chosen
        self._world = world
        self._client: Client | None = None
        self._starting = Starting()
        self._core: ProducerCore | None = None

    async def start(self, prepare: Callable[[ProducerCore], None] | None = None) -> None:
        """`prepare` sees the core before any broker hears of it."""
        if self._core is not None:
            self.life.begin()  # says why not
        client = self._client = join(self._client_settings, self._identity, self._world)
        core = ProducerCore(client.instance, self.group, self.settings, self._hooks, self.life)
        self._core = core
        await client.start()
        try:
            if prepare is not None:
                prepare(core)
            with self._starting:
                await client.run(core.start())
        except BaseException:
            self._client = None
            await client.close()
            raise

    async def close(self) -> None:
        """What waits is sent before; nothing happens the second time."""
        await self._starting.is_over()
        client, core = self._client, self._core
        self._client = None
        if client is None or core is None:
            self.life.end()
            return
        try:
            await client.run(core.close())
        finally:
            await client.close()

    @property
    def core(self) -> ProducerCore:
        """Of a producer that runs; raises StateError."""
        self.life.must_run()
        assert self._core is not None, "what runs was started"
        return self._core

    async def run(self, flow: Flow[T]) -> T:
        client = self._client
        assert client is not None, "`core` was asked first"
        return await client.run(flow)
