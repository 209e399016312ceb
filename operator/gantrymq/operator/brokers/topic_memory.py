"""Remembers, between runs of one cluster, what the caches do not show yet.

A resource that was just written comes back from the API with a delay; until then the controller
plans with what it wrote. A restart may lose all of this, because the next process learns it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, final

from gantrymq.operator.topics.values import (
    DrainQuestion,
    Place,
    Refusal,
    TopicResource,
)
from gantrymq.operator.topics.verdicts import ASK_AGAIN_S
from gantrymq.remoting.failures import ClientError

if TYPE_CHECKING:
    from gantrymq.operator.brokers.topics import ClusterTopics

ROUTES_MAX: Final = 10_000
"""The number of deleted topics whose routes wait to be removed. The routes of more topics stay
until the name servers restart."""

ROUTES_AT_ONCE: Final = 100
"""The number of topics whose routes one run removes from the name servers."""


@final
class TopicMemory:
    """The memory of one cluster between two runs. The TopicController owns it."""

    def __init__(self) -> None:
        self.refusals: dict[Place, Refusal] = {}
        self.made: dict[str, frozenset[str]] = {}
        """By uid: groups on which the topic was created, until the cached status names them."""
        self._written: dict[str, tuple[str, TopicResource]] = {}
        """By uid: the resourceVersion of the plan, and the resource after the write."""
        self._stale: dict[str, str] = {}
        """By uid: a resourceVersion that a write found to be out of date."""
        self._asked: dict[Place, float] = {}
        self._routes: set[str] = set()

    def resources(self, topics: Iterable[TopicResource]) -> tuple[TopicResource, ...]:
        """Return the resources, each as of the last write if the cache is older."""
        seen = tuple(self._newest(each) for each in topics)
        uids = {each.uid for each in seen}
        self._written = {uid: each for uid, each in self._written.items() if uid in uids}
        self._stale = {uid: each for uid, each in self._stale.items() if uid in uids}
        self.made = {uid: each for uid, each in self.made.items() if uid in uids}
        return seen

    def _newest(self, topic: TopicResource) -> TopicResource:
        written = self._written.get(topic.uid)
        if written is not None:
            if written[0] == topic.resource_version:
                return written[1]
            del self._written[topic.uid]
        made = self.made.get(topic.uid)
        if made is not None and all(topic.status.group(each) for each in made):
            del self.made[topic.uid]
        return topic

    def wrote(self, before: TopicResource, after: TopicResource) -> None:
        """Note that a resource was written; `before` is the one that the run planned with."""
        known = self._written.get(before.uid)
        # The cache may still show the version before several writes.
        seen = known[0] if known is not None else before.resource_version
        self._written[before.uid] = (seen, after)

    def is_stale(self, topic: TopicResource) -> bool:
        """Whether the resource was changed or deleted, and the cache does not show that yet."""
        return self._stale.get(topic.uid) == topic.resource_version

    def found_stale(self, topic: TopicResource) -> None:
        """Note that a write was refused because the resource was changed or deleted."""
        self._stale[topic.uid] = topic.resource_version

    def made_on(self, topic: TopicResource, group: str) -> None:
        """Note that this operator created the topic on a group."""
        self.made[topic.uid] = self.made.get(topic.uid, frozenset()) | {group}

    def due(
        self, questions: Iterable[DrainQuestion], now: float, most: int
    ) -> tuple[DrainQuestion, ...]:
        """Return the questions that were not asked lately, and note them as asked."""
        self._asked = {
            place: asked for place, asked in self._asked.items() if 0 <= now - asked < ASK_AGAIN_S
        }
        due = [each for each in questions if each.place not in self._asked][:most]
        self._asked |= {each.place: now for each in due}
        return tuple(due)

    def forget_expired_refusals(self, now: float) -> None:
        """Remove refusals after which a broker may be asked again."""
        expired = [place for place, each in self.refusals.items() if each.retry_at <= now]
        for place in expired:
            del self.refusals[place]

    # ------------------------------------------------------------------ routes

    def deleted(self, topic: str) -> None:
        """Note that a broker has deleted a topic, whose routes name servers still have."""
        if len(self._routes) < ROUTES_MAX:
            self._routes.add(topic)

    async def forget_routes(self, connection: ClusterTopics, cluster: str) -> None:
        """Remove the routes of deleted topics at the name servers. The next run tries failed ones
        again."""
        some = tuple(self._routes)[:ROUTES_AT_ONCE]
        outcomes = await asyncio.gather(
            *(connection.forget(topic, cluster) for topic in some), return_exceptions=True
        )
        for topic, outcome in zip(some, outcomes, strict=True):
            if outcome is None:
                self._routes.discard(topic)
            elif not isinstance(outcome, ClientError):
                raise outcome
