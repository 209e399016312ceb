"""Notifies listeners when the queues of a topic change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, final

from gantrymq.client.core.flow.flow_steps import Call, Wait
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.safe_text import as_told, text_of
from gantrymq.wire.bodies.shared import MessageQueue

QueuesChanged: TypeAlias = Callable[[str, frozenset[MessageQueue]], object]
"""Called with a topic and its current queues; plain or async."""


@final
class TopicWatch:
    """The watched topics of one consumer; `run` is a flow that lives as long as the client."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._listeners: dict[str, QueuesChanged] = {}
        self._seen: dict[str, frozenset[MessageQueue]] = {}

    @property
    def topics(self) -> Iterable[str]:
        return self._listeners

    def listen(self, topic: str, listener: QueuesChanged) -> None:
        self._listeners[topic] = listener

    async def run(self, period_s: float) -> None:
        clock = self._instance.ports.clock
        while True:
            for topic, listener in tuple(self._listeners.items()):
                await self._look(topic, listener)
            await Wait(clock.monotonic() + period_s)

    async def _look(self, topic: str, listener: QueuesChanged) -> None:
        log = self._instance.ports.log
        try:
            await self._instance.refresh_route(topic)
            now = frozenset((await self._instance.route(topic)).subscribe)
        except Exception as error:  # one failure must not end the loop
            cause, shown = as_told(error)
            log(f"the queues of {topic} are not known now: {cause}", shown)
            return
        before = self._seen.get(topic)
        self._seen[topic] = now
        if before is None or before == now:
            return
        try:
            await Call(listener, topic, now)
        except Exception as error:  # user code; the loop goes on
            log(f"the listener of {topic}'s queues raised {text_of(error)}")
