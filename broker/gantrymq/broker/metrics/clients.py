"""Reads the metrics of connected clients: connections, sessions, and conflicts within groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.broker.metrics.base import PROTOCOL, is_system
from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker, rocketmq5
from gantrymq.wire.bodies.connections import language_name
from gantrymq.wire.version import version_name

_MODES: Final[Mapping[str, str]] = {
    "CONSUME_ACTIVELY": "pull",
    "CONSUME_PASSIVELY": "push",
    "CONSUME_POP": "pop",
}


def samples(state: State, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    yield Samples(rocketmq5.PRODUCER_CONNECTIONS, list(_producers(state).items()), base)
    yield Samples(rocketmq5.CONSUMER_CONNECTIONS, list(_consumers(state).items()), base)
    conflicts = Counter((each.group, each.kind.value) for each in state.conflicts.lasting)
    yield Samples(broker.GROUP_CONFLICTS, list(conflicts.items()), base)
    yield one(broker.BACKWARD_COMMITS, state.offsets.backward_commits, base)
    yield from _sessions(state, base)


def _producers(state: State) -> Counter[tuple[str, ...]]:
    return Counter(
        (*_program(client), PROTOCOL)
        for members in state.clients.producers.values()
        for client in members.values()
    )


def _consumers(state: State) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for group in state.clients.consumers.values():
        mode = _MODES.get(group.consume_type, "push")
        for client in group.clients.values():
            labels = (group.name, *_program(client), mode, PROTOCOL, is_system("", group.name))
            counts[labels] += 1
    return counts


def _program(client: Client) -> tuple[str, str]:
    """The labels for the language and version of a client."""
    return language_name(client.language).lower(), version_name(client.version).lower()


def _sessions(state: State, base: str) -> Iterator[Samples]:
    sessions = state.store.sessions
    yield one(broker.SESSIONS, len(sessions), base)
    yield Samples(
        broker.SESSIONS_FORGOTTEN,
        [
            (("producerSessionHours",), sessions.expired),
            (("producerSessionsMax",), sessions.evicted),
        ],
        base,
    )
    yield one(broker.REPEATED, sessions.repeats, base)
    yield one(broker.SESSION_REFUSED, sessions.refused, base)
