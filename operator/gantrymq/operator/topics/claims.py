"""Decides which Topic has a topic name: of the valid ones that are not being deleted, the oldest.

A resource that lost inherits what the winner made, as soon as the winner is deleted or gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.operator.topics.statuses import IN_CONFLICT, NAME_TAKEN
from gantrymq.operator.topics.values import TopicResource


@final
class Claims:
    """Which Topic resource has which topic name of one cluster."""

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
        """Topic names that a resource has."""
        return self._winners.keys()

    def winner(self, topic_name: str) -> TopicResource | None:
        """The resource that has the name."""
        return self._winners.get(topic_name)

    def inherits(self, resource: TopicResource) -> bool:
        """Whether the winner of a name takes over what an earlier winner made."""
        if resource.spec is not None and resource.spec.topic_name in self._left:
            return True
        condition = resource.status.condition(IN_CONFLICT)
        return condition is not None and condition.reason == NAME_TAKEN
