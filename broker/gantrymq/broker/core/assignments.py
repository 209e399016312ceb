"""Which queues of a topic are a client's, where clients leave that to the broker.

    AVG             the queues in order, cut into as many pieces as there are clients
    AVG_BY_CIRCLE   dealt out one by one
    pop             all clients pop from all queues: one entry for each broker, queue -1; or each
                    from its own and from those of so many clients behind it

All brokers and all clients have the same order of queues and clients, and so agree without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from gantrymq.wire.bodies.shared import MessageQueue

ALL_QUEUES: Final = -1

Queues: TypeAlias = tuple[MessageQueue, ...]
Strategy: TypeAlias = Callable[[Sequence[MessageQueue], int, int], Queues]
"""Queues, which client, of how many."""


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
    """Whether every one of `count` clients pops from all queues."""
    return share <= 0 or share >= count - 1


def for_all(queues: Sequence[MessageQueue]) -> Queues:
    """All queues of each broker at once."""
    brokers = dict.fromkeys((queue.topic, queue.broker_name) for queue in queues)
    return tuple(MessageQueue(topic, broker, ALL_QUEUES) for topic, broker in brokers)


def shared(
    strategy: Strategy, queues: Sequence[MessageQueue], index: int, count: int, share: int
) -> Queues:
    """Those one of `count` clients pops from: its own, and those of `share` clients behind it."""
    if count > len(queues):
        return (queues[index % len(queues)],)
    clients = [(index + step) % count for step in range(share + 1)]
    return tuple(queue for client in clients for queue in strategy(queues, client, count))
