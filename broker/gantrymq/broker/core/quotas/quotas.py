"""Manages the quotas of one broker: their file, changes, and the parts that enforce them.

    QuotaGate      delays and refuses requests (gate.py)
    TopicStorage   refuses sends to topics that keep too much (storage.py)

The kernel takes sends to topics with quotas as to any others; it leaves a topic to the general path
only while sends to it are refused. Invariant: without quotas `is_on` is False, and no other check
is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.access.access import Access
from gantrymq.broker.core.context import Context
from gantrymq.broker.core.messages import Channel, File, Reply, Request
from gantrymq.broker.core.quotas.gate import QuotaGate
from gantrymq.broker.core.quotas.meters import Meters
from gantrymq.broker.core.quotas.rules import QuotaRules
from gantrymq.broker.core.quotas.storage import TopicStorage
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.store.append.write_group import TopicSize
from gantrymq.wire import javajson
from gantrymq.wire.bodies.quotas import (
    Quota,
    QuotaKind,
    QuotaLimit,
    QuotaTableBody,
    QuotaUse,
    check_table,
)

# The interval between checks of topics that are refused for their traffic.
LOOK_SECONDS: Final = 0.1

# Administrators need the busiest ones only; each series of a metric costs as much.
USE_MAX: Final = 100


@final
class Quotas:
    """The quotas of one broker, owned by its `State`; a periodic service that checks refused
    topics."""

    __slots__ = (
        "_context",
        "_look_at",
        "_meters",
        "_refused",
        "gate",
        "has_topics",
        "is_on",
        "rules",
        "storage",
        "topic_changed",
    )

    def __init__(self, context: Context, access: Access, topics: Topics, groups: Groups) -> None:
        self._look_at = NEVER
        self._meters = Meters()
        self._refused: set[str] = set()
        """Topics whose sends are refused for their traffic."""
        self._context = context
        self.rules: QuotaRules = QuotaRules()
        self.gate: QuotaGate = QuotaGate(context, access, topics, groups, self._meters)
        self.storage: TopicStorage = TopicStorage(context, topics, self._storage_changed)
        self.is_on: bool = False
        """Whether there is any quota."""
        self.has_topics: bool = False
        """Whether reads of the kernel must be charged to topics."""
        self.topic_changed: Callable[[str], None] = _ignore
        """Called with a topic when the answer of `is_served` for it may have changed."""
        context.files.keep(File.QUOTAS, self.content)

    # ------------------------------------------------------------------ rules

    def replace(self, rules: QuotaRules) -> None:
        """Apply these quotas."""
        now = self._context.now
        self.rules = rules
        self.is_on = bool(rules.quotas)
        self.has_topics = rules.has(QuotaKind.TOPIC)
        self._meters.change(rules, now)
        self.gate.forget_addresses()
        self.storage.change(rules, now)
        self._look(now)

    def put(self, quota: Quota) -> None:
        """Set a quota by request. Raises RemoteError when there are too many."""
        rules = self.rules.with_quota(quota)
        check_table(rules.quotas)
        self.replace(rules)
        self._context.files.touch(File.QUOTAS)

    def remove(self, kind: QuotaKind, name: str) -> None:
        self.replace(self.rules.without(kind, name))
        self._context.files.touch(File.QUOTAS)

    def content(self) -> bytes:
        """The content of the file: one line for each quota, since people edit it."""
        lines = [javajson.dumps_fastjson(quota.to_json()).decode() for quota in self.rules.quotas]
        return ('{"quotas":[\n' + ",\n".join(lines) + "\n]}\n").encode()

    def load(self, content: bytes) -> None:
        """Load the file at startup. Raises RemoteError for malformed content."""
        self.replace(_understood(content))

    def edited(self, content: bytes) -> None:
        """Apply the hand-edited file, unless a write of it is pending.

        Raises RemoteError for an unusable file; the quotas then stay unchanged.
        """
        if self._context.files.is_safe(File.QUOTAS):
            self.replace(_understood(content))

    def copy(self, content: bytes) -> None:
        """Take over the master's quotas. Raises RemoteError for malformed content."""
        rules = _understood(content)
        if rules.quotas != self.rules.quotas:
            self.replace(rules)
            self._context.files.touch(File.QUOTAS)

    # ------------------------------------------------------------------ topics

    def fed(
        self,
        channel: Channel,
        count: int,
        frames_bytes: int,
        sizes: Sequence[TopicSize],
        now: float,
    ) -> None:
        """Charge sends that the kernel took from this connection; `sizes` is set if
        `has_topics`."""
        for topic in self.gate.fed(channel, count, frames_bytes, sizes, now):
            self._refuse(topic)

    def is_served(self, topic: str) -> bool:
        """Whether the kernel may take sends to this topic."""
        return topic not in self._refused and not self.storage.is_full(topic)

    def refusal_of_storage(self, request: Request, topic: str) -> Reply | None:
        """The refusal of a send to a topic that has used up its storage quota, else None."""
        limit = self.storage.limit_of(topic) if self.storage.is_full(topic) else None
        if limit is None:
            return None
        used = self.storage.used(topic)
        return self.gate.refuse_full(
            request,
            f"the storage quota of topic {topic} is used up: its messages have about {used} bytes,"
            f" storageBytes={limit.amount}, set for topic {limit.source}; they go when they are"
            " older than fileReservedTime (or the topic's own retention), or raise the quota with"
            f" `gantry quota set topic {limit.source}`",
        )

    def _refuse(self, topic: str) -> None:
        if topic not in self._refused:
            self._refused.add(topic)
            self._look_at = min(self._look_at, self._context.now + LOOK_SECONDS)
            self.topic_changed(topic)

    def _storage_changed(self, topic: str) -> None:
        self.topic_changed(topic)
        event = "used up" if self.storage.is_full(topic) else "has room again"
        used = self.storage.used(topic)
        self._context.effects.info(f"storage quota {event} topic={topic} bytes={used}")

    def _look(self, now: float) -> None:
        """Let the kernel serve refused topics again once their debt is paid."""
        for topic in list(self._refused):
            meter = self._meters.find(QuotaKind.TOPIC, topic, now)
            if meter is None or self.gate.is_calm(meter, now):
                self._refused.remove(topic)
                self.topic_changed(topic)
        self._look_at = now + LOOK_SECONDS if self._refused else NEVER

    # ------------------------------------------------------------------ queries

    def use(self) -> list[QuotaUse]:
        """The use of limits, the busiest first."""
        now = self._context.now
        found = [
            QuotaUse(
                meter.kind,
                meter.name,
                charge.limit,
                meter.source(charge.limit).amount,
                int(charge.bucket.used_per_second(now)),
                int(charge.bucket.delay(now) * 1000),
            )
            for meter in self._meters.all()
            for charge in meter.charges()
        ]
        for topic, used in self.storage.bytes_by_topic.items():
            limit = self.storage.limit_of(topic)
            if limit is not None:
                found.append(
                    QuotaUse(
                        QuotaKind.TOPIC, topic, QuotaLimit.STORAGE_BYTES, limit.amount, used, 0
                    )
                )
        found.sort(key=lambda use: -use.used / use.allowed)
        return found[:USE_MAX]

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return min(self._look_at, self.storage.deadline()) if self.is_on else NEVER

    def expire(self, now: float) -> None:
        if now >= self._look_at:
            self._look(now)
        self.storage.expire(now)

    def closed(self, channel: Channel) -> None:
        self.gate.closed(channel)


def _ignore(topic: str) -> None:
    """Do nothing: the store has no kernel yet that could be informed."""


def _understood(content: bytes) -> QuotaRules:
    """Decode the file; an empty file means no quotas."""
    if not content.strip():
        return QuotaRules()
    size = len(content)
    value = javajson.loads(content, size)
    try:
        return QuotaRules(QuotaTableBody.from_json(value).quotas)
    except RemoteError as error:
        raise RemoteError(f"quotas.json: {error}") from error
