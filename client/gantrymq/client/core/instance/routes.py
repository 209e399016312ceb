"""Caches routes: the queues of each topic for sending and reading, and the broker addresses.

    publish    the queues of orderTopicConf "a:4;b:4" if it is set; else the write queues of every
               broker name, sorted, that is writable and has a master (id 0)
    subscribe  the read queues of every broker name that is readable, with or without a master

Invariant: derived lists are computed when a route changes, not when they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, final

from gantrymq.wire.bodies.route import QueueData, TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue, Permission

MASTER_ID: Final = 0


@final
class Route:
    """The route of one topic, with its derived queues."""

    __slots__ = ("data", "is_ordered", "publish", "subscribe")

    def __init__(self, topic: str, data: TopicRouteData) -> None:
        self.data = data
        self.is_ordered = bool(data.order_topic_conf)
        self.publish = _publish_queues(topic, data)
        self.subscribe = _subscribe_queues(topic, data)


@final
class Routes:
    """The routes of the topics that a client uses."""

    __slots__ = ("_addresses", "_routes")

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self._addresses: dict[str, dict[int, str]] = {}

    def find(self, topic: str) -> Route | None:
        return self._routes.get(topic)

    def update(self, topic: str, data: TopicRouteData) -> bool:
        """Store a route from a name server; return whether it changed."""
        known = self._routes.get(topic)
        if known is not None and known.data == data:
            return False
        self._routes[topic] = Route(topic, data)
        for broker in data.brokers:
            self._addresses[broker.broker_name] = dict(broker.addresses)
        return True

    def forget_offline(self) -> None:
        """Remove addresses that are in no route any more."""
        named: dict[str, dict[int, str]] = {}
        for route in self._routes.values():
            for broker in route.data.brokers:
                named.setdefault(broker.broker_name, {}).update(broker.addresses)
        self._addresses = named

    def master(self, broker_name: str) -> str | None:
        """Return the master's address."""
        return self._addresses.get(broker_name, {}).get(MASTER_ID)

    def member(self, broker_name: str, broker_id: int) -> tuple[str, int] | None:
        """Return the address to read from and its broker id: the wanted one, else the lowest id."""
        members = self._addresses.get(broker_name)
        if not members:
            return None
        if broker_id not in members:
            broker_id = min(members)
        return members[broker_id], broker_id

    def masters(self) -> list[str]:
        found = (self.master(name) for name in self._addresses)
        return [address for address in found if address is not None]

    def members(self) -> list[str]:
        """Return the addresses of all brokers, without duplicates."""
        every = (address for each in self._addresses.values() for address in each.values())
        return list(dict.fromkeys(every))


def inherited(data: TopicRouteData, queues: int) -> TopicRouteData:
    """Return the route that a topic gets when a message creates it: the default topic's, with at
    most this many queues."""
    return replace(
        data,
        order_topic_conf=None,
        queues=tuple(
            replace(
                each,
                read_queue_nums=min(queues, each.read_queue_nums),
                write_queue_nums=min(queues, each.read_queue_nums),
            )
            for each in data.queues
        ),
    )


def _publish_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    if data.order_topic_conf:
        return tuple(_ordered_queues(topic, data.order_topic_conf))
    masters = {broker.broker_name for broker in data.brokers if MASTER_ID in broker.addresses}
    return tuple(
        MessageQueue(topic, each.broker_name, queue_id)
        for each in _permitted(data.queues, Permission.WRITE)
        if each.broker_name in masters
        for queue_id in range(each.write_queue_nums)
    )


def _ordered_queues(topic: str, configuration: str) -> Iterable[MessageQueue]:
    for part in configuration.split(";"):
        broker_name, _, count = part.partition(":")
        if count.strip().isdigit():
            for queue_id in range(int(count)):
                yield MessageQueue(topic, broker_name.strip(), queue_id)


def _subscribe_queues(topic: str, data: TopicRouteData) -> tuple[MessageQueue, ...]:
    return tuple(
        MessageQueue(topic, each.broker_name, queue_id)
        for each in _permitted(data.queues, Permission.READ)
        for queue_id in range(each.read_queue_nums)
    )


def _permitted(queues: Iterable[QueueData], permission: Permission) -> list[QueueData]:
    permitted = (each for each in queues if each.perm & permission)
    return sorted(permitted, key=lambda each: each.broker_name)
