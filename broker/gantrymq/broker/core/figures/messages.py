"""Counts messages by topic and group, as RocketMQ 5.x counts them for its metrics.

    sent(topic, kind, count, size)     a producer's request was stored; a delay level delivered
    dead, committed, rolled_back, ...  see the attributes

What is counted differs from `stats.py`, which follows VIEW_BROKER_STATS_DATA: there every message
that is stored counts, here only those that enter the broker. Topics are those that messages are
stored in: a message with a delay counts for the topic in which it waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, final

from gantrymq.broker.core.figures.tally import Table, Tally
from gantrymq.broker.core.system_topics import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.tables.rocketmq5 import FINISH_LATENCY, MESSAGE_SIZE
from gantrymq.store.kernel_counts import KernelCounts
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message.property_names import SHARDING_KEY
from gantrymq.wire.message.record import Record

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

_SHARDING_KEY: Final = f"{SHARDING_KEY}\x01".encode()


# RocketMQ's label message_type. Texts, for they are hashed with each send, and the hash of an enum
# member takes longer than all the rest of counting.
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
"""Topic and message type."""

Place: TypeAlias = tuple[str, str]
"""Group and topic."""


@final
class SentCounts:
    """Of one topic and type: messages, and requests by the mean size of their messages."""

    __slots__ = ("messages", "size", "sizes")

    def __init__(self) -> None:
        self.messages = 0
        self.size = 0
        self.sizes = Histogram(MESSAGE_SIZE.buckets)


def _finish_histogram() -> Histogram:
    return Histogram(FINISH_LATENCY.buckets)


def type_of(record: Record) -> str:
    """Of a message as it is stored, which may be a topic where it waits."""
    kind = _OF_TOPIC.get(record.topic)
    if kind is not None:
        return kind
    return FIFO if _SHARDING_KEY in record.properties else NORMAL


@final
class MessageFigures:
    """The counts of one broker. `sweep` drops those of deleted topics and groups."""

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
        """Messages that became dead letters, by group and by the topic they were sent to."""
        self.begun: Tally[str] = Tally()
        """Half messages of producers, by the topic they are meant for."""
        self.committed: Tally[str] = Tally()
        self.rolled_back: Tally[str] = Tally()
        """By the producer, by a person, or given up."""
        self.finish_seconds: Table[str, Histogram] = Table(_finish_histogram)
        """From half message to commit."""
        self.timers_in: Tally[str] = Tally()
        """Timer messages that were stored, by the topic they are meant for."""
        self.timers_out: Tally[str] = Tally()
        self.popped_again: Tally[Place] = Tally()
        """Popped messages that were not acknowledged, and were put into the retry topic."""

    def count_sent(self, topic: str, kind: str, count: int, size: int) -> None:
        """So many messages of one request were stored, with so many bytes."""
        counts = self.sent.use((topic, kind))
        if counts is not None:
            counts.messages += count
            counts.size += size
            counts.sizes.note(size // count)

    def count_diverted(self, topic: str, stored: Record) -> None:
        """A message for this topic was stored where it waits."""
        if stored.topic == _HALF_TOPIC:
            self.begun.add(topic)
        elif stored.topic == _TIMER_TOPIC:
            self.timers_in.add(topic)

    def count_delivered(self, record: Record) -> None:
        """A message of a delay level was put into its topic."""
        self.count_sent(utf8_text(record.topic), DELAY, 1, record.size)

    def count_timer_out(self, record: Record) -> None:
        """A timer message was put into its topic."""
        self.timers_out.add(utf8_text(record.topic))

    def count_kernel(self, taken: KernelCounts) -> None:
        """The same of requests that the kernel took."""
        kind = FIFO if taken.is_fifo else NORMAL
        counts = self.sent.use((taken.topic, kind))
        if counts is not None:
            counts.messages += taken.count
            counts.size += taken.size
            counts.sizes.add(taken.sizes, taken.mean_sizes)

    def count_commit(self, topic: str, seconds: float) -> None:
        """A transaction was committed so long after it began."""
        self.committed.add(topic)
        finish_seconds = self.finish_seconds.use(topic)
        if finish_seconds is not None:
            finish_seconds.note(seconds)

    def open_halves(self) -> dict[str, int]:
        """Transactions that began since the start and have not ended, by topic; those that began
        before the start are not known, so a topic may end more than it began."""
        ended: dict[str, int] = {}
        for tally in (self.committed, self.rolled_back):
            for topic, count in tally.items():
                ended[topic] = ended.get(topic, 0) + count
        return {topic: max(0, count - ended.get(topic, 0)) for topic, count in self.begun.items()}

    def sweep(self, state: State) -> None:
        """Every ten minutes: forget deleted topics and groups, and what was idle for a day."""
        topics, groups = state.topics, state.groups

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
            paired.drop(is_gone)  # one that is idle is still needed for the difference
        for by_place in (self.dead, self.popped_again):
            by_place.sweep(is_place_gone)
