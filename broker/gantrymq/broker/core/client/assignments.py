"""Computes which queues of a topic a client consumes, for clients that let the broker decide.

    AVG             the queues in order, divided into as many runs as there are clients
    AVG_BY_CIRCLE   the queues assigned to the clients in turn
    pop             all clients pop from all queues: one entry for each broker, with queue id -1; or
                    each client pops from its own queues and from those of the next `share` clients

All brokers and clients use the same order of queues and clients, so they agree without messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from gantrymq.wire.bodies.shared import MessageQueue

ALL_QUEUES: Final = -1

Queues: TypeAlias = tuple[MessageQueue, ...]
Strategy: TypeAlias = Callable[[Sequence[MessageQueue], int, int], Queues]
"""Takes the queues, the index of the client and the number of clients."""


def averagely(queues: Sequence[MessageQueue], index: int, count: int) -> Queues:
    size, left = divmod(len(queues), count)
    start = index * size + min(index, left)
    return tuple(queues[start : start + size + (index < left)])


def by_circle(queues: Sequence[MessageQueue], index: int, count: int) -> Queues:
    return tuple(queues[index::count])


STRATEGIES: Final[Mapping[str, Strategy]] = MappingProxyType(
    {"AVG": averagely, "AVG_BY_CIRCLE": by_circle}
)


def is_for_all(share: int, count: int) -> bool:
    """Whether each of the `count` clients pops from all queues."""
    return share <= 0 or share >= count - 1


def for_all(queues: Sequence[MessageQueue]) -> Queues:
    """One entry for all queues of each broker."""
    brokers = dict.fromkeys((queue.topic, queue.broker_name) for queue in queues)
    return tuple(MessageQueue(topic, broker, ALL_QUEUES) for topic, broker in brokers)


def shared(
    strategy: Strategy, queues: Sequence[MessageQueue], index: int, count: int, share: int
) -> Queues:
    """The queues from which one of `count` clients pops: its own, and those of the next `share`
    clients."""
    if count > len(queues):
        return (queues[index % len(queues)],)
    clients = [(index + step) % count for step in range(share + 1)]
    return tuple(queue for client in clients for queue in strategy(queues, client, count))
