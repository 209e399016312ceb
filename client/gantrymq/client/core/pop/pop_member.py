"""Provides the core of the pop consumer, whose messages the brokers distribute (5.x).

So it has no queues, no rebalance and no offsets. One flow per broker and topic pops only when no
messages are left to hand out, so that no message waits here while its invisible time runs. A
message whose invisible time ended before it was handed out is dropped, because the broker delivers
it to another consumer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait
from gantrymq.client.core.flow.lifecycle import Lifecycle, State
from gantrymq.client.core.group.subscriptions import (
    EVERYTHING,
    Expression,
    Subscription,
    check,
    subscription,
)
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pop.pops import Out, Pops, PopSettings
from gantrymq.client.core.ports import Running
from gantrymq.client.core.safe_text import as_told
from gantrymq.wire.bodies.heartbeat import ConsumerData

# Pause after a failed pop.
FAILURE_PAUSE_S: Final = 1.0

# Pause after a broker answered at once that it has nothing and accepts no more held pops.
EMPTY_PAUSE_S: Final = 0.1


@final
class PopMember:
    """One member of a pop group in one client. `subscribe`, `start`, then `close`."""

    def __init__(self, instance: Instance, group: str, settings: PopSettings) -> None:
        self.lifecycle = Lifecycle("pop consumer")
        self.group = group
        self._instance = instance
        self._settings = settings
        self._subscriptions: dict[str, Subscription] = {}
        self._popping: dict[tuple[str, str], Running] = {}
        self._ready: deque[tuple[Pops, Out]] = deque()
        self._arrived = Signal()
        self._waiting = 0
        self._wanted: dict[tuple[str, str], Signal] = {}

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        """Start; raises SubscriptionError, and RouteError because a topic must exist before it is
        popped."""
        self.lifecycle.begin()
        for subscribed in self._subscriptions.values():
            await self._instance.route(subscribed.topic)
            await check(self._instance, self.group, subscribed)
        self._instance.add_consumer(self.group, self)
        self.lifecycle.began()
        await self._instance.heartbeat()
        await self.rebalance()

    async def close(self) -> None:
        """Stop; messages not handed out are redelivered after their invisible time."""
        if not self.lifecycle.end():
            return
        for running in self._popping.values():
            running.cancel()
        self._popping.clear()
        self._ready.clear()
        self._arrived.fire()
        await self._instance.remove_consumer(self.group, self)

    def subscribe(self, topic: str, expression: Expression = EVERYTHING) -> None:
        """Subscribe to a topic; call this before `start`."""
        version_ms = self._instance.ports.clock.wall_ms()
        self._subscriptions[topic] = subscription(topic, expression, version_ms)

    # ------------------------------------------------------------------ as the client sees it

    @property
    def topics(self) -> Iterable[str]:
        return tuple(self._subscriptions)

    @property
    def data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_POP",
            subscriptions=tuple(each.data for each in self._subscriptions.values()),
            unit_mode=self._instance.settings.unit_mode,
        )

    async def persist_offsets(self) -> None:
        """Do nothing: brokers keep the offsets."""

    async def rebalance(self) -> bool:
        """Start a flow for each broker and topic of the current routes, and stop the others."""
        if self.lifecycle.state is not State.RUNNING:
            return True
        places: dict[tuple[str, str], Subscription] = {}
        for topic, subscribed in self._subscriptions.items():
            route = self._instance.routes.find(topic)
            queues = () if route is None else route.subscribe
            places.update({(topic, queue.broker_name): subscribed for queue in queues})
        for place in [place for place in self._popping if place not in places]:
            self._popping.pop(place).cancel()
            self._wanted.pop(place)
        for place, subscribed in places.items():
            if place not in self._popping:
                self._wanted[place] = Signal()
                pops = Pops(self._instance, self.group, subscribed, self._settings)
                flow = self._keep_popping(pops, place[1], self._wanted[place])
                self._popping[place] = self._instance.ports.start(flow, f"pop {place}")
        return True

    # ------------------------------------------------------------------ popping

    async def _keep_popping(self, pops: Pops, broker_name: str, wanted: Signal) -> None:
        clock, log = self._instance.ports.clock, self._instance.ports.log
        while True:
            if not self._waiting:
                await Wait(signal=wanted)
            began = clock.monotonic()
            try:
                found = await pops.pop(broker_name)
            except Exception as error:  # the flow must not end, or messages would stop
                cause, shown = as_told(error)
                text = f"pop of {pops.topic} at {broker_name} failed, tried again soon: {cause}"
                log(text, shown)
                await Wait(began + FAILURE_PAUSE_S)
                continue
            self._ready.extend([(pops, out) for out in found])
            if found:
                self._arrived.fire()
                await Wait(signal=wanted)
            else:
                await Wait(began + EMPTY_PAUSE_S)

    async def receive(self, timeout_s: float = FOREVER) -> tuple[Pops, Out] | None:
        """Return a message; None after the timeout, or if the consumer is closed."""
        until = self._instance.ports.clock.monotonic() + timeout_s
        self._waiting += 1
        try:
            while self.lifecycle.state is State.RUNNING:
                found = self.take()
                if found is not None:
                    return found
                for wanted in self._wanted.values():
                    wanted.fire()
                if not await Wait(until, self._arrived):
                    return None
        finally:
            self._waiting -= 1
        return None

    def take(self) -> tuple[Pops, Out] | None:
        """Return a buffered message whose invisible time has not ended, if there is one."""
        now_ms = self._instance.ports.clock.wall_ms()
        while self._ready:
            pops, out = self._ready.popleft()
            if out.due_ms > now_ms:
                return pops, out
        return None
