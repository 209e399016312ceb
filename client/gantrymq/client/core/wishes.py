"""What a consumer subscribes to, and what of it brokers were told.

    subscribe ──> wanted ── heartbeat ──> told      pulls go by what is both
    a renewal: the same wish with a higher version, which brokers take for what the group wants

Two heartbeats may be answered in another order than they were sent. Invariants: what is told never
goes back to what an earlier heartbeat said; each version is higher than all before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.client.core.steps import Flow
from gantrymq.client.core.subscriptions import Expression, Subscription, Versions, subscription


@final
class Wishes:
    """Of one consumer, by topic."""

    def __init__(self) -> None:
        self._versions = Versions()
        self._wanted: dict[str, Subscription] = {}
        self._told: dict[str, Subscription] = {}
        self._sent = self._answered = 0

    @property
    def all(self) -> Iterable[Subscription]:
        return tuple(self._wanted.values())

    @property
    def topics(self) -> Iterable[str]:
        return tuple(self._wanted)

    def subscribe(self, topic: str, expression: Expression, now_ms: int) -> None:
        """Raises SubscriptionError when the expression means nothing."""
        version = self._versions.next(now_ms)
        self._wanted[topic] = subscription(topic, expression, version)

    def unsubscribe(self, topic: str) -> None:
        self._wanted.pop(topic, None)

    def renew(self, topic: str, now_ms: int) -> None:
        """For brokers to take it for the newest of its group."""
        known = self._wanted.get(topic)
        if known is not None:
            self._wanted[topic] = known.renewed(self._versions.next(now_ms))

    def find(self, topic: str) -> Subscription | None:
        """As brokers were told of it, while that is what is wanted: a pull of what they were not
        told of is refused."""
        told, wanted = self._told.get(topic), self._wanted.get(topic)
        if told is None or wanted is None or told.wish != wanted.wish:
            return None
        return told

    @property
    def told(self) -> Iterable[str]:
        """The topics of which there is something to pull."""
        return [topic for topic in self._wanted if topic in self._told]

    async def tell(self, heartbeat: Flow[None]) -> None:
        """Brokers know what is wanted now, once this heartbeat has ended."""
        self._sent = number = self._sent + 1
        said = dict(self._wanted)
        await heartbeat
        if number > self._answered:
            self._answered, self._told = number, said
