"""Carries out the steps of one plan: finalizers, requests to brokers, then statuses.

The order is: add finalizers; create and change topics, at all masters in parallel; write order
entries; delete topics; write statuses and remove finalizers. A step whose finalizer could not be
written sends no request to a broker. After a refusal of a broker, a second plan that knows of the
refusal decides the status of the topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar, final

from gantrymq.client.core.errors import BrokerError
from gantrymq.operator.brokers.topic_memory import TopicMemory
from gantrymq.operator.brokers.topics import ClusterTopics
from gantrymq.operator.topics.api import (
    TopicApi,
    TopicApiError,
    TopicChangedError,
    TopicGoneError,
)
from gantrymq.operator.topics.plan import plan_topics
from gantrymq.operator.topics.steps import Change, Removal, TopicStep, batches
from gantrymq.operator.topics.values import (
    BrokerTopic,
    Place,
    Refusal,
    TopicResource,
    TopicsSnapshot,
)
from gantrymq.remoting.failures import ClientError
from gantrymq.runtime.logs import Log

log: Final = Log("operator.topics")

T = TypeVar("T")

WRITES_AT_ONCE: Final = 24
"""The number of writes in flight: as many as the API server serves without queueing them."""

DELETIONS_AT_ONCE: Final = 100
"""A master writes its files and registers once for all deletions that arrive in one turn. A
hundred deletions at once cost the master a quarter of what sixteen at once do."""

REFUSED_RETRY_S: Final = 30.0
"""How long to wait before repeating a request that a broker refused."""

AWAY_RETRY_S: Final = 5.0
"""How long to wait for a master that did not answer: about as long as a failover."""

NO_ANSWER: Final = "its master does not answer"


@final
class TopicRun:
    """One run of one cluster."""

    def __init__(
        self,
        connection: ClusterTopics,
        api: TopicApi,
        memory: TopicMemory,
        snapshot: TopicsSnapshot,
        now: float,
    ) -> None:
        self._connection = connection
        self._api = api
        self._memory = memory
        self._snapshot = snapshot
        self._now = now
        self._refused: set[Place] = set()
        self.failure: TopicApiError | None = None
        """The first failure of the API; nothing more is written after it."""
        self.topics_changed = 0
        self.writes = 0
        self.retry_s: float | None = None
        self.is_unfinished = False
        """Whether another run has to follow at once."""

    async def carry_out(self, steps: Sequence[TopicStep]) -> None:
        """Carry out all steps. Failures are in the attributes and in the memory."""
        self._memory.forget_expired_refusals(self._now)
        ready = await self._with_finalizers(steps)
        requests = batches(ready)
        await asyncio.gather(*(self._change(*item) for item in requests.items()))
        self._remember_made(ready)
        await self._write_order(ready)
        await self._delete(ready)
        await _each(self._finish, self._with_known_status(ready), WRITES_AT_ONCE)

    # ------------------------------------------------------------------ the API

    async def _with_finalizers(self, steps: Sequence[TopicStep]) -> list[TopicStep]:
        """Add the new finalizers, and return the steps to continue with."""
        done: list[TopicStep] = [each for each in steps if not each.adds_finalizer]

        async def add(step: TopicStep) -> None:
            after = await self._set_finalizers(step)
            if after is not None:
                done.append(after)

        await _each(add, [each for each in steps if each.adds_finalizer], WRITES_AT_ONCE)
        return done

    async def _set_finalizers(self, step: TopicStep) -> TopicStep | None:
        """Write the finalizers, and return the step with the new resource; None on failure."""
        finalizers, before = step.finalizers, step.resource
        if finalizers is None or self.failure is not None:
            return None
        version = await self._written(before, self._api.set_finalizers(before, finalizers))
        if version is None:
            return None
        after = replace(before, finalizers=finalizers, resource_version=version)
        self._memory.wrote(before, after)
        return replace(step, resource=after, finalizers=None)

    async def _finish(self, step: TopicStep) -> None:
        status = step.status
        if status is not None and status.drift != step.resource.status.drift and status.drift:
            log.warning("repaired drift", topic=_named(step), drift="; ".join(status.drift))
        if status is not None and self.failure is None:
            before = step.resource
            version = await self._written(before, self._api.write_status(before, status))
            if version is not None:
                after = replace(before, status=status, resource_version=version)
                self._memory.wrote(before, after)
                step = replace(step, resource=after)
        if step.drops_finalizer:
            log.info("releasing topic", topic=_named(step), reason=step.reason)
            await self._set_finalizers(step)

    async def _written(self, topic: TopicResource, request: Awaitable[str]) -> str | None:
        """Return the new resourceVersion; None if nothing was written."""
        self.writes += 1
        try:
            return await request
        except (TopicGoneError, TopicChangedError):
            self._memory.found_stale(topic)
            return None
        except TopicApiError as failure:
            self.failure = self.failure or failure
            return None

    # ------------------------------------------------------------------ brokers

    async def _change(self, address: str, requests: Iterable[Sequence[Change]]) -> None:
        for request in requests:
            await self._change_some(address, request)

    async def _change_some(self, address: str, changes: Sequence[Change]) -> None:
        """Send one request. A master creates all of its topics or none, so halve a refused request
        until each refused topic is alone."""
        try:
            await self._connection.create(address, changes)
        except BrokerError as refusal:
            if len(changes) == 1:
                (one,) = changes
                log.warning("topic refused", group=one.group, topic=one.topic, error=refusal)
                self._refuse(one.group, one.topic, one.config, refusal.remark)
                return
            middle = len(changes) // 2
            await self._change_some(address, changes[:middle])
            await self._change_some(address, changes[middle:])
        except ClientError as error:
            log.warning("topics not changed", broker=address, topics=len(changes), error=error)
            for each in changes:
                self._refuse(each.group, each.topic, each.config, NO_ANSWER, AWAY_RETRY_S)
        else:
            self.topics_changed += len(changes)
            log.info("changed topics", broker=address, topics=len(changes))

    def _refuse(
        self,
        group: str,
        topic: str,
        config: BrokerTopic | None,
        why: str,
        retry_s: float = REFUSED_RETRY_S,
    ) -> None:
        self._refused.add((group, topic))
        self._memory.refusals[(group, topic)] = Refusal(config, why, self._now + retry_s)
        self.retry_s = min(self.retry_s or retry_s, retry_s)

    def _remember_made(self, steps: Iterable[TopicStep]) -> None:
        for step in steps:
            for each in step.changes:
                if (each.group, each.topic) not in self._refused:
                    self._memory.made_on(step.resource, each.group)

    async def _write_order(self, steps: Iterable[TopicStep]) -> None:
        for step in steps:
            if self._is_refused(step):
                continue
            for entry in step.order:
                try:
                    await self._connection.put_order(entry)
                except ClientError as error:
                    log.warning("order not written", topic=entry.topic, error=error)
                    self.retry_s = REFUSED_RETRY_S
                    continue
                # A deletion continues once a run sees that its order entries are gone.
                self.is_unfinished |= step.resource.deleted is not None

    async def _delete(self, steps: Iterable[TopicStep]) -> None:
        removals = [each for step in steps for each in step.removals]
        await _each(self._delete_one, removals, DELETIONS_AT_ONCE)
        # The next run sees that the topics are gone, and releases their resources.
        self.is_unfinished |= any(
            (each.group, each.topic) not in self._refused for each in removals
        )

    async def _delete_one(self, removal: Removal) -> None:
        log.info("deleting topic", group=removal.group, topic=removal.topic)
        try:
            await self._connection.delete(removal.address, removal.topic)
        except BrokerError as refusal:
            log.warning("deletion refused", topic=removal.topic, error=refusal)
            self._refuse(removal.group, removal.topic, None, refusal.remark)
        except ClientError:
            self._refuse(removal.group, removal.topic, None, NO_ANSWER, AWAY_RETRY_S)
        else:
            self.topics_changed += 1
            self._memory.deleted(removal.topic)

    # ------------------------------------------------------------------ refusals

    def _is_refused(self, step: TopicStep) -> bool:
        calls: tuple[Change | Removal, ...] = (*step.changes, *step.removals)
        return any((each.group, each.topic) in self._refused for each in calls)

    def _with_known_status(self, steps: Sequence[TopicStep]) -> list[TopicStep]:
        """Return the steps; those that a broker refused get a status that says so."""
        if not self._refused:
            return list(steps)
        refused = {each.resource.uid for each in steps if self._is_refused(each)}
        current = {each.resource.uid: each.resource for each in steps}
        topics = tuple(current.get(each.uid, each) for each in self._snapshot.topics)
        again = plan_topics(
            replace(
                self._snapshot,
                topics=topics,
                refusals=self._memory.refusals,
                made=self._memory.made,
            ),
            self._now,
        )
        known = {each.resource.uid: each.status for each in again.steps}
        return [
            replace(each, status=known.get(each.resource.uid))
            if each.resource.uid in refused
            else each
            for each in steps
        ]


async def _each(work: Callable[[T], Awaitable[None]], items: Sequence[T], most: int) -> None:
    """Do the work for every item, at most `most` at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    await asyncio.gather(*(worker() for _ in range(min(most, len(items)))))


def _named(step: TopicStep) -> str:
    return f"{step.resource.namespace}/{step.resource.name}"
