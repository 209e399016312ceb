"""Joins a producer core to its client and reads its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gantrymq.client.aio.machinery.configuration import choose
from gantrymq.client.aio.machinery.environment import Environment
from gantrymq.client.aio.machinery.producer_keywords import PRODUCER_NAMES, ProducerKeywords
from gantrymq.client.aio.membership import Membership
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.producer.producer import ProducerCore, must_be_group
from gantrymq.client.core.send.producer_settings import ProducerSettings


@final
class ProducerHost(Membership[ProducerCore]):
    """The membership of one producer. `start`, then `run`, then `close`."""

    def __init__(self, group: str, environment: Environment, keywords: ProducerKeywords) -> None:
        must_be_group(group)
        self.group = group
        self._hooks = tuple(keywords.get("send_hooks", ()))
        given = {name: value for name, value in keywords.items() if name != "send_hooks"}
        client_settings, identity, self.settings = choose(ProducerSettings, PRODUCER_NAMES, given)
        super().__init__("producer", client_settings, identity, environment)

    async def start(self, prepare: Callable[[ProducerCore], None] | None = None) -> None:
        """Start the core; `prepare` is called with it before it registers at any broker."""

        def make(instance: Instance) -> ProducerCore:
            core = ProducerCore(instance, self.group, self.settings, self._hooks)
            if prepare is not None:
                prepare(core)
            return core

        await self.enter(make)
