"""Holds the pops and notifications of one group that wait for messages of one topic.

A pop takes messages, so every message is for one pop. A notification only announces messages, so
one message could answer all of them. Like RocketMQ, a message is announced to one request that
waits for all queues and to one that waits for its queue, the most recent ones first.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, TypeAlias, final

from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.names import pop_handles
from gantrymq.wire.codes import RequestCode

ALL_QUEUES: Final = -1

Attempt: TypeAlias = Callable[[bool], "Task[Reply | None]"]
"""Tries to answer; called with True at the end of the waiting time, it always returns an answer."""


@final
class Waiter:
    """One waiting request, owned by `Waiting`."""

    __slots__ = (
        "attempt",
        "began",
        "group",
        "is_over",
        "is_trying",
        "is_woken",
        "queue_id",
        "request",
        "topic",
        "tries_again",
        "until",
    )

    def __init__(
        self,
        request: Request,
        group: str,
        topic: str,
        queue_id: int,
        attempt: Attempt,
        *,
        began: float,
        until: float,
    ) -> None:
        """A negative queue id means all queues."""
        self.began: float = began
        self.request: Request = request
        self.group: str = group
        self.topic: str = topic
        self.queue_id: int = max(queue_id, ALL_QUEUES)
        self.attempt: Attempt = attempt
        self.until: float = until
        self.is_trying: bool = False
        self.tries_again: bool = False
        self.is_woken: bool = False
        self.is_over: bool = False

    @property
    def is_notification(self) -> bool:
        return self.request.command.code == RequestCode.NOTIFICATION

    @property
    def topics(self) -> tuple[str, str]:
        return self.topic, pop_handles.retry_topic(self.group, self.topic)


@final
class GroupWaiters:
    """The waiting requests of one group for one topic, or for its retry topic.

    `Waiting` owns it while it is not empty.
    """

    __slots__ = ("notifications", "pops")

    def __init__(self) -> None:
        self.pops: dict[Waiter, None] = {}
        self.notifications: dict[tuple[str, int], dict[Waiter, None]] = {}
        """By the topic and the queue that they name; no entry is empty."""

    def __bool__(self) -> bool:
        return bool(self.pops or self.notifications)

    def add(self, waiter: Waiter) -> None:
        if waiter.is_notification:
            key = waiter.topic, waiter.queue_id
            self.notifications.setdefault(key, {})[waiter] = None
        else:
            self.pops[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        if not waiter.is_notification:
            del self.pops[waiter]
            return
        key = waiter.topic, waiter.queue_id
        del self.notifications[key][waiter]
        if not self.notifications[key]:
            del self.notifications[key]

    def pops_of(self, topic: str, queue_id: int) -> list[Waiter]:
        """The pops that may find a message of this queue; all of them for the retry topic, which
        all read."""
        return [
            waiter
            for waiter in self.pops
            if waiter.topic != topic or waiter.queue_id in (ALL_QUEUES, queue_id)
        ]

    def notifications_of(self, topic: str, queue_id: int, messages: int) -> list[Waiter]:
        """The notifications to which `messages` new messages of this queue are announced."""
        chosen: list[Waiter] = []
        for (asked_topic, asked_queue), waiters in self.notifications.items():
            if asked_topic == topic and asked_queue not in (ALL_QUEUES, queue_id):
                continue
            idle = (waiter for waiter in reversed(waiters) if not waiter.is_woken)
            chosen += islice(idle, messages)
        return chosen


@final
class TopicWaiters:
    """The requests that wait for messages of one topic; owned by `Waiting` while it is not
    empty."""

    __slots__ = ("ends", "groups")

    def __init__(self) -> None:
        self.groups: dict[str, GroupWaiters] = {}
        self.ends: dict[int, int] = {}
        """By queue id, the offset up to which messages were announced to notifications."""
