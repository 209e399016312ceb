"""Refreshes routes that may be wrong because one of their brokers did not answer or refused.

    a failed request ──> the route is fetched at once, then each second until 10 s after the
                         last failure

So the client learns of a new master as soon as the name servers know it, not with the next poll of
all routes. Invariant: however many requests fail, a topic's route is fetched at most once a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import Flow, Signal, Wait
from gantrymq.client.core.ports import Ports
from gantrymq.client.core.safe_text import as_told

PAUSE_S: Final = 1.0

# A master is elected and announced within a few seconds; further failures extend the time.
REFRESHED_S: Final = 10.0


@final
class RouteRefresher:
    """The routes of one client that are being refreshed; `run` is a flow that the client owns."""

    def __init__(self, ports: Ports, refresh: Callable[[str], Flow[object]]) -> None:
        self._ports = ports
        self._refresh = refresh
        self._until: dict[str, float] = {}
        self._added = Signal()

    def add(self, topic: str) -> None:
        """Request refreshes of a topic's route. Synchronous and cheap, because many sends can
        fail."""
        self._until[topic] = self._ports.clock.monotonic() + REFRESHED_S
        self._added.fire()

    async def run(self) -> None:
        clock = self._ports.clock
        while True:
            if not self._until:
                await Wait(signal=self._added)
            for topic in tuple(self._until):
                await self._refresh_one(topic)
            now = clock.monotonic()
            await Wait(now + PAUSE_S)
            self._until = {topic: end for topic, end in self._until.items() if end > now}

    async def _refresh_one(self, topic: str) -> None:
        try:
            await self._refresh(topic)
        except Exception as error:  # it must not stop other topics' refreshes
            cause, shown = as_told(error)
            self._ports.log(f"route not refreshed topic={topic} error={cause}", shown)
