"""Decides which topics and queues a read takes, of those that name servers know."""

from __future__ import annotations

from collections.abc import Iterable

from gantrymq.client.core.message.namespace import is_system
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.read_options import Selection

# What begins so holds a group's retries, dead letters, or the brokers' own records.
_OF_GROUPS = "%"


def named_topics(selection: Selection) -> tuple[str, ...]:
    """The topics that the options name; none where they give a pattern."""
    if selection.queues:
        return tuple(sorted({queue.topic for queue in selection.queues}))
    return selection.topics


def matching_topics(selection: Selection, names: Iterable[str]) -> tuple[str, ...]:
    """The topics of a cluster that the pattern wants."""
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
    """The queues to read, of those that the chosen topics have."""
    if selection.queues:
        return selection.queues & frozenset(readable)
    return frozenset(readable)


def must_exist(
    selection: Selection, known_topics: Iterable[str], found: Iterable[QueueKey]
) -> None:
    """Raises RocketMQOptionError when the options name a topic or a queue that is not there."""
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
