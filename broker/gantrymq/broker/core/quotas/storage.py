"""Estimates the log bytes of each topic that has a storage quota.

    bytes of a topic = messages in its queues * mean size of a record

The number of messages is always exact, because the queues know their first and last message. The
mean is sampled: SAMPLES_A_QUEUE runs of units, spread evenly over each queue, have the sizes of
their records. It is exact where a queue has few messages or all have the same size. Nothing is
counted when a message is stored, and nothing is persisted. The figure therefore cannot drift, be it
by a restart, a crash, retention, a truncated log or a failover.

Invariant: one pass runs at a time, over at most TOPICS_A_PASS topics, followed by a pause of
PASS_SECONDS. So 100 topics are up to date within a tenth of a second, 10 000 within 16 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError
from gantrymq.broker.core.context import Context
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.quotas.rules import Allowed, QuotaRules
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.queue_samples import RecordSizes, sampled_sizes
from gantrymq.wire.bodies.quotas import QuotaKind, QuotaLimit

PASS_SECONDS: Final = 0.1
TOPICS_A_PASS: Final = 64

# The mean changes slowly. A topic is sampled again when its number of messages changed by this
# share.
SAMPLE_CHANGE: Final = 0.1

# A full topic accepts messages again when retention has brought it below this share of its quota.
CALM_SHARE: Final = 0.98


@final
class _Topic:
    """The state of one topic that has a storage quota."""

    __slots__ = ("bytes", "is_full", "mean", "messages", "sampled_messages")

    def __init__(self) -> None:
        self.bytes: int = 0
        self.is_full: bool = False
        self.mean: float = 0.0
        self.messages: int = 0
        self.sampled_messages: int = 0


@final
class TopicStorage:
    """The storage quotas of one broker; owned by `Quotas`.

    It calls `changed` when a topic fills up or has room again.
    """

    __slots__ = (
        "_all_topics",
        "_changed",
        "_context",
        "_is_running",
        "_next_pass",
        "_next_topics",
        "_rules",
        "_topics",
    )

    def __init__(self, context: Context, topics: Topics, changed: Callable[[str], None]) -> None:
        self._all_topics = topics
        self._changed = changed
        self._is_running = False
        self._next_pass = NEVER
        self._next_topics: list[str] = []
        self._rules = QuotaRules()
        self._context = context
        self._topics: dict[str, _Topic] = {}

    def change(self, rules: QuotaRules, now: float) -> None:
        """Apply other quotas."""
        self._rules = rules
        self._next_topics.clear()
        self._next_pass = now if rules.has_limit(QuotaLimit.STORAGE_BYTES) else NEVER
        for topic in list(self._topics):
            self._judge(topic)

    def limit_of(self, topic: str) -> Allowed | None:
        limits = self._rules.limits_of(QuotaKind.TOPIC, topic)
        return limits.get(QuotaLimit.STORAGE_BYTES)

    def is_full(self, topic: str) -> bool:
        """Whether sends to this topic are refused."""
        known = self._topics.get(topic)
        return known is not None and known.is_full

    def used(self, topic: str) -> int:
        """The bytes of this topic; 0 without a storage quota."""
        known = self._topics.get(topic)
        return 0 if known is None else known.bytes

    @property
    def bytes_by_topic(self) -> Mapping[str, int]:
        """The bytes of all topics that have a storage quota."""
        return {topic: known.bytes for topic, known in self._topics.items()}

    # ------------------------------------------------------------------ passes

    def deadline(self) -> float:
        return NEVER if self._is_running else self._next_pass

    def expire(self, now: float) -> None:
        if now < self.deadline():
            return
        self._is_running = True
        self._context.task_runner.start(self._pass(self._take_topics()), self._end, self._failed)

    def _take_topics(self) -> Sequence[str]:
        if not self._next_topics:
            self._next_topics = list(self._all_topics.all)
            for topic in self._topics.keys() - set(self._next_topics):
                del self._topics[topic]
        taken = self._next_topics[-TOPICS_A_PASS:]
        del self._next_topics[-TOPICS_A_PASS:]
        return taken

    def _pass(self, topics: Sequence[str]) -> Task[None]:
        for topic in topics:
            if self.limit_of(topic) is None:
                self._topics.pop(topic, None)
                continue
            known = self._topics.setdefault(topic, _Topic())
            known.messages = self._count(topic)
            if abs(known.messages - known.sampled_messages) > known.messages * SAMPLE_CHANGE:
                sizes = yield from tasks.read(self._sampled(topic))
                known.mean, known.sampled_messages = sizes.mean, known.messages
            known.bytes = int(known.messages * known.mean)
            self._judge(topic)

    def _count(self, topic: str) -> int:
        queues = self._context.store.queues
        count = 0
        for queue_id in queues.queue_ids(topic):
            queue = queues.find(topic, queue_id)
            if queue is not None:
                count += queue.end - queue.minimum
        return count

    def _sampled(self, topic: str) -> ReadTask[RecordSizes]:
        return sampled_sizes(self._context.store.queues, topic)

    def _judge(self, topic: str) -> None:
        """Report a topic that has become full, or has room again."""
        known, limit = self._topics[topic], self.limit_of(topic)
        if limit is None:
            is_full = False
        else:
            share = CALM_SHARE if known.is_full else 1.0
            is_full = known.bytes >= limit.amount * share
        if is_full != known.is_full:
            known.is_full = is_full
            self._changed(topic)

    def _end(self, result: object) -> None:
        self._is_running = False
        if self._next_pass != NEVER:
            self._next_pass = self._context.now + PASS_SECONDS

    def _failed(self, error: Exception) -> None:
        """End a pass that failed because of the disk or a deleted topic; the next one tries
        again."""
        if not isinstance(error, (DiskError, CorruptionError)):
            self._context.effects.failed(f"checking storage quotas failed: {error}", error)
        self._end(None)
