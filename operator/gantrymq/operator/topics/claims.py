"""Decides which of several Topics of one name has the topic: the oldest valid one not deleted.

A resource that lost inherits the topic that the winner created, once the winner is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.operator.topics.statuses import IN_CONFLICT, NAME_TAKEN
from gantrymq.operator.topics.values import TopicResource


@final
class Claims:
    """The Topic resources of one cluster by the topic names that they claim."""

    __slots__ = ("_left", "_winners")

    def __init__(self, resources: Iterable[TopicResource]) -> None:
        self._winners: dict[str, TopicResource] = {}
        self._left: set[str] = set()
        for resource in resources:
            if resource.spec is None:
                continue
            name = resource.spec.topic_name
            if resource.deleted is not None:
                if resource.status.created:
                    self._left.add(name)
                continue
            known = self._winners.setdefault(name, resource)
            if known is not resource and resource.age_key < known.age_key:
                self._winners[name] = resource

    @property
    def names(self) -> Iterable[str]:
        """Return the topic names that resources claim."""
        return self._winners.keys()

    def winner(self, topic_name: str) -> TopicResource | None:
        """Return the resource that has the name."""
        return self._winners.get(topic_name)

    def inherits(self, resource: TopicResource) -> bool:
        """Whether the winner of a name takes over the topic that an earlier winner created."""
        if resource.spec is not None and resource.spec.topic_name in self._left:
            return True
        condition = resource.status.condition(IN_CONFLICT)
        return condition is not None and condition.reason == NAME_TAKEN
