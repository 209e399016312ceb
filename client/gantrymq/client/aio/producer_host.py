"""A producer's core as a member of its client, and the settings it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, final

from gantrymq.client.aio.configuration import choose
from gantrymq.client.aio.membership import Membership
from gantrymq.client.aio.producer_keywords import PRODUCER_NAMES, ProducerKeywords
from gantrymq.client.aio.world import World
from gantrymq.client.core.instance import Instance
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
        self._hooks = tuple(keywords.get("send_hooks", ()))
        given = {name: value for name, value in keywords.items() if name != "send_hooks"}
        client_settings, identity, self.settings = choose(ProducerSettings, PRODUCER_NAMES, given)
        self._membership: Membership[ProducerCore] = Membership(
            "producer", client_settings, identity, world
        )

    async def start(self, prepare: Callable[[ProducerCore], None] | None = None) -> None:
        """`prepare` sees the core before any broker hears of it."""

        def make(instance: Instance) -> ProducerCore:
            core = ProducerCore(instance, self.group, self.settings, self._hooks)
            if prepare is not None:
                prepare(core)
            return core

        await self._membership.start(make)

    async def close(self) -> None:
        """What waits is sent before; nothing happens the second time."""
        await self._membership.close()

    @property
    def core(self) -> ProducerCore:
        """Of a producer that was started; raises StateError."""
        return self._membership.member

    @property
    def core_here(self) -> ProducerCore:
        """The same, on its own event loop."""
        return self._membership.member_here

    def run(self, flow: Flow[T]) -> Awaitable[T]:
        return self._membership.run(flow)
