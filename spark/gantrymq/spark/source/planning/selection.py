"""Selects the topics and queues of a read from those that name servers know."""

from __future__ import annotations

from collections.abc import Iterable

from gantrymq.client.core.message.namespace import is_system
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.read_options import Selection

# What begins so holds a group's retries, dead letters, or the brokers' own records.
_OF_GROUPS = "%"


def named_topics(selection: Selection) -> tuple[str, ...]:
    """Return the topics that the options name; none if they give a pattern."""
    if selection.queues:
        return tuple(sorted({queue.topic for queue in selection.queues}))
    return selection.topics


def matching_topics(selection: Selection, names: Iterable[str]) -> tuple[str, ...]:
    """Return the topics of a cluster that match the pattern."""
    pattern = selection.pattern
    assert pattern is not None, "topics are looked for where there is a pattern"
    return tuple(
        sorted(
            name
            for name in names
            if pattern.fullmatch(name) and not name.startswith(_OF_GROUPS) and not is_system(name)
        )
    )


def wanted_queues(selection: Selection, readable: Iterable[QueueKey]) -> frozenset[QueueKey]:
    """Return the queues to read, from those of the selected topics."""
    if selection.queues:
        return selection.queues & frozenset(readable)
    return frozenset(readable)


def must_exist(
    selection: Selection, known_topics: Iterable[str], found: Iterable[QueueKey]
) -> None:
    """Raise RocketMQOptionError if the options name a topic or a queue that does not exist."""
    missing = sorted(set(named_topics(selection)) - set(known_topics))
    if missing:
        raise RocketMQOptionError(
            f"option topic: no name server knows {', '.join(missing)}; check the name, or create it"
            f" with gantry updateTopic -t {missing[0]} -c <cluster>"
        )
    absent = sorted(selection.queues - set(found))
    if absent:
        raise RocketMQOptionError(
            f"option assign names queues that are not there: {', '.join(map(str, absent))}"
        )
