"""Computes which queues of a subscribed topic a pull consumer reads.

Before the consumer computes its first share of a subscription, it has a broker check an SQL
expression, and sends a heartbeat, so that the brokers know it as a member of the group.
"""

from __future__ import annotations

from typing import final

from gantrymq.client.core.group.group_members import share_of
from gantrymq.client.core.group.subscriptions import Subscription, check
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.wire.bodies.shared import MessageQueue


@final
class LiteShares:
    """The shares of one pull consumer, which owns this object."""

    __slots__ = ("_allocate", "_group", "_instance", "_registered")

    def __init__(self, instance: Instance, group: str, settings: LiteSettings) -> None:
        self._instance = instance
        self._group = group
        self._allocate = None if settings.broadcasting else settings.allocate
        self._registered: set[Subscription] = set()

    async def of(self, subscribed: Subscription) -> list[MessageQueue]:
        """Return the consumer's share of the queues of the topic. Raises SubscriptionError if a
        broker refuses the expression, ClientError or RequestError if the share is unknown."""
        if subscribed not in self._registered:
            await self._register(subscribed)
        route = await self._instance.route(subscribed.topic)
        return await share_of(self._instance, self._group, route, self._allocate)

    async def _register(self, subscribed: Subscription) -> None:
        """Register the subscription with the brokers before its queues are allocated."""
        instance = self._instance
        await check(instance, self._group, subscribed)
        await instance.route(subscribed.topic)
        await instance.heartbeat()
        self._registered.add(subscribed)
