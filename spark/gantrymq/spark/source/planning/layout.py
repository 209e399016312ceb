"""Finds the brokers of the queues of a read, from the routes of name servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import Selection
from gantrymq.spark.source.planning.selection import wanted_queues
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import Permission


class Member(NamedTuple):
    """The broker that is asked about the queues of one broker name: the master if it is up."""

    address: str
    is_master: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The queues that are read, and the brokers that are asked about them."""

    queues: frozenset[QueueKey]
    members: Mapping[str, Member]
    """By broker name."""
    topics: frozenset[str]
    """The selected topics that the name servers know."""

    @property
    def topics_by_broker(self) -> list[tuple[str, str]]:
        """Return each broker name with each topic of which it has queues."""
        return sorted({(queue.broker_name, queue.topic) for queue in self.queues})


def layout_of(selection: Selection, routes: Mapping[str, TopicRouteData]) -> Layout:
    """Return the readable queues of the selected topics."""
    members: dict[str, Member] = {}
    readable: list[QueueKey] = []
    for topic, route in routes.items():
        for broker in route.brokers:
            number = MASTER_ID if MASTER_ID in broker.addresses else min(broker.addresses)
            members[broker.broker_name] = Member(broker.addresses[number], number == MASTER_ID)
        readable += _readable(topic, route)
    queues = wanted_queues(selection, (each for each in readable if each.broker_name in members))
    return Layout(queues, members, frozenset(routes))


def _readable(topic: str, route: TopicRouteData) -> Iterable[QueueKey]:
    for queues in route.queues:
        if queues.perm & Permission.READ:
            for number in range(queues.read_queue_nums):
                yield QueueKey(topic, queues.broker_name, number)
