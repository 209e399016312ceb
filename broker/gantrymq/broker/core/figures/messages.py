"""Counts messages by topic and group, as RocketMQ 5.x counts them for its metrics.

    count_sent(topic, kind, count, size)   a producer's request was stored
    count_delivered(record)                a delay level delivered a message
    dead, committed, rolled_back, ...      see the attributes

The counts differ from those of `stats.py`, which follows VIEW_BROKER_STATS_DATA: `stats.py` counts
every message that is stored, and this module only messages that enter the broker. A message counts
for the topic that it is stored in: a delayed message counts for the topic in which it waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

from gantrymq.broker.core.figures.tally import Table, Tally
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.tables.rocketmq5 import FINISH_LATENCY, MESSAGE_SIZE
from gantrymq.store.append.kernel_counts import KernelCounts
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message.property_names import SHARDING_KEY
from gantrymq.wire.message.record import Record

_SHARDING_KEY: Final = f"{SHARDING_KEY}\x01".encode()


# Values of RocketMQ's label message_type. They are strings because each send hashes one: hashing an
# enum member would take longer than the rest of counting.
NORMAL: Final = "normal"
FIFO: Final = "fifo"
DELAY: Final = "delay"
TRANSACTION: Final = "transaction"

_HALF_TOPIC: Final = HALF_TOPIC.encode()
_TIMER_TOPIC: Final = TIMER_TOPIC.encode()
_OF_TOPIC: Final[Mapping[bytes, str]] = {
    _HALF_TOPIC: TRANSACTION,
    SCHEDULE_TOPIC.encode(): DELAY,
    _TIMER_TOPIC: DELAY,
}

Sent: TypeAlias = tuple[str, str]
"""A topic and a message type."""

Place: TypeAlias = tuple[str, str]
"""A consumer group and a topic."""


@final
class SentCounts:
    """Counts the messages of one type that were sent to one topic.

    `sizes` counts requests by the mean size of their messages.
    """

    __slots__ = ("messages", "size", "sizes")

    def __init__(self) -> None:
        self.messages = 0
        self.size = 0
        self.sizes = Histogram(MESSAGE_SIZE.buckets)


def _finish_histogram() -> Histogram:
    return Histogram(FINISH_LATENCY.buckets)


def type_of(record: Record) -> str:
    """The message type of a stored record. Its topic may be a system topic where it waits."""
    kind = _OF_TOPIC.get(record.topic)
    if kind is not None:
        return kind
    # Not `in`: it tries the key as a number first, and makes an exception each time.
    return FIFO if record.properties.find(_SHARDING_KEY) >= 0 else NORMAL


@final
class MessageFigures:
    """Counts the messages of one broker. `sweep` drops counts of deleted topics and groups."""

    __slots__ = (
        "begun",
        "committed",
        "dead",
        "finish_seconds",
        "popped_again",
        "rolled_back",
        "sent",
        "timers_in",
        "timers_out",
    )

    def __init__(self) -> None:
        self.sent: Table[Sent, SentCounts] = Table(SentCounts)
        self.dead: Tally[Place] = Tally()
        """Messages that became dead letters, by group and original topic."""
        self.begun: Tally[str] = Tally()
        """Transactions that producers began, by the topic of their message."""
        self.committed: Tally[str] = Tally()
        self.rolled_back: Tally[str] = Tally()
        """Transactions that the producer or an administrator rolled back, or that the broker gave
        up, by topic."""
        self.finish_seconds: Table[str, Histogram] = Table(_finish_histogram)
        """Seconds from the half message of a transaction to its commit, by topic."""
        self.timers_in: Tally[str] = Tally()
        """Timer messages that were stored, by the topic that they will be delivered to."""
        self.timers_out: Tally[str] = Tally()
        self.popped_again: Tally[Place] = Tally()
        """Popped messages that the broker put into the retry topic because no consumer acknowledged
        them in time."""

    def count_sent(self, topic: str, kind: str, count: int, size: int) -> None:
        """Count the messages of one stored request; `size` is the sum of their bytes."""
        counts = self.sent.use((topic, kind))
        if counts is not None:
            counts.messages += count
            counts.size += size
            counts.sizes.note(size // count)

    def count_rewritten(self, topic: str, stored: Record) -> None:
        """Count a message for this topic that was stored in a system topic to wait."""
        if stored.topic == _HALF_TOPIC:
            self.begun.add(topic)
        elif stored.topic == _TIMER_TOPIC:
            self.timers_in.add(topic)

    def count_delivered(self, record: Record) -> None:
        """Count a message of a delay level that was put into its topic."""
        self.count_sent(utf8_text(record.topic), DELAY, 1, record.size)

    def count_timer_out(self, record: Record) -> None:
        """Count a timer message that was put into its topic."""
        self.timers_out.add(utf8_text(record.topic))

    def count_kernel(self, taken: KernelCounts) -> None:
        """Add what the compiled kernel counted for the requests that it stored itself."""
        kind = FIFO if taken.is_fifo else NORMAL
        counts = self.sent.use((taken.topic, kind))
        if counts is not None:
            counts.messages += taken.count
            counts.size += taken.size
            counts.sizes.add(taken.sizes, taken.mean_sizes)

    def count_commit(self, topic: str, seconds: float) -> None:
        """Count a transaction that was committed so many seconds after it began."""
        self.committed.add(topic)
        finish_seconds = self.finish_seconds.use(topic)
        if finish_seconds is not None:
            finish_seconds.note(seconds)

    def open_halves(self) -> dict[str, int]:
        """The number of open transactions by topic, of those that began since this process started.

        The ends of transactions that began before the start count as well. A topic may therefore
        have more ends than beginnings, and its number is then 0.
        """
        ended: dict[str, int] = {}
        for tally in (self.committed, self.rolled_back):
            for topic, count in tally.items():
                ended[topic] = ended.get(topic, 0) + count
        return {topic: max(0, count - ended.get(topic, 0)) for topic, count in self.begun.items()}

    def sweep(self, topics: Topics, groups: Groups) -> None:
        """Drop counts of deleted topics and groups, and counts that did not change for a day.

        The broker calls it every ten minutes.
        """

        def is_gone(topic: str) -> bool:
            return topics.find(topic) is None

        def is_place_gone(place: Place) -> bool:
            group, topic = place
            return groups.find(group) is None or topics.find(topic) is None

        self.sent.sweep(lambda sent: is_gone(sent[0]))
        self.finish_seconds.sweep(is_gone)
        for by_topic in (self.timers_in, self.timers_out):
            by_topic.sweep(is_gone)
        for paired in (self.begun, self.committed, self.rolled_back):
            paired.drop(is_gone)  # open_halves needs the difference of counts, idle ones too
        for by_place in (self.dead, self.popped_again):
            by_place.sweep(is_place_gone)
