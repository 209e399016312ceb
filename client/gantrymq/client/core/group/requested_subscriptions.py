"""Tracks a consumer's subscriptions, and which of them brokers have received by heartbeats.

    subscribe ──> wanted ── heartbeat ──> announced      pulls use subscriptions that are both
    a renewal: the same subscription with a higher version, which brokers take as the group's

Heartbeats may be answered in another order than they were sent. Invariants: the announced
subscriptions never return to the content of an earlier heartbeat; each version is higher than all
before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.group.subscriptions import (
    Expression,
    Subscription,
    Versions,
    subscription,
)


@final
class Subscriptions:
    """The subscriptions of one consumer, by topic."""

    def __init__(self) -> None:
        self._versions = Versions()
        self._wanted: dict[str, Subscription] = {}
        self._announced: dict[str, Subscription] = {}
        self._sent = self._answered = 0

    @property
    def all(self) -> Iterable[Subscription]:
        return tuple(self._wanted.values())

    @property
    def topics(self) -> Iterable[str]:
        return tuple(self._wanted)

    def subscribe(self, topic: str, expression: Expression, now_ms: int) -> None:
        """Add or replace a subscription; raises SubscriptionError if the expression is invalid."""
        version = self._versions.next(now_ms)
        self._wanted[topic] = subscription(topic, expression, version)

    def unsubscribe(self, topic: str) -> None:
        self._wanted.pop(topic, None)

    def renew(self, topic: str, now_ms: int) -> None:
        """Raise the version, so that brokers take this subscription as the newest of the group."""
        known = self._wanted.get(topic)
        if known is not None:
            self._wanted[topic] = known.renewed(self._versions.next(now_ms))

    def find(self, topic: str) -> Subscription | None:
        """Return the subscription as brokers know it; None if it is not the wanted one, because a
        broker refuses pulls of a subscription that it does not know."""
        announced, wanted = self._announced.get(topic), self._wanted.get(topic)
        if announced is None or wanted is None:
            return None
        return announced if announced.subscribed_version == wanted.subscribed_version else None

    @property
    def announced(self) -> Iterable[str]:
        """The topics that can be pulled."""
        return [topic for topic in self._wanted if topic in self._announced]

    async def announce(self, heartbeat: Flow[None]) -> None:
        """Await the heartbeat, then count the current subscriptions as announced."""
        self._sent = number = self._sent + 1
        current = dict(self._wanted)
        await heartbeat
        if number > self._answered:
            self._answered, self._announced = number, current
