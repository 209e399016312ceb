"""Counts what the broker has done: for runtime info, VIEW_BROKER_STATS_DATA and metrics.

    sent(topic, count, size)         handlers, for each request whose messages were stored
    got(group, topic, count, size)   pulls that found messages; missed() for those that did not
    delivered(group, topic, ...)     messages that a service read from an internal topic
    read_took(seconds)               a pull or pop whose messages were read from the disk
    sent_back(group, topic)          messages that consumers sent back
    put_failed(count)                messages that were not stored

Sends that the kernel took reach no handler: `kernel_counts` returns the counts by topic since the
last call, and is called each second.

All counts are in memory and restart with the broker, as in Java. Bounds: `limit` topics and as many
groups in topics are counted one by one; the rest counts in the totals only. A series is removed
after a day without counts, or after an hour when the table is nearly full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, final

from gantrymq.broker.core.context import Context
from gantrymq.broker.core.figures.messages import MessageFigures
from gantrymq.broker.core.figures.stats_series import Series
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.names.system_topics import is_system_topic, own_topics
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.store.append.kernel_counts import KernelCounts
from gantrymq.wire.javajson import java_double

# 1.8 KiB each: 18 MB for topics, and as many for groups, if all of them are busy all day.
SERIES_MAX: Final = 10_000
SWEEP_SECONDS: Final = 600.0
IDLE_SECONDS: Final = 86_400.0
IDLE_WHEN_FULL_SECONDS: Final = 3_600.0

SAMPLE_SECONDS: Final = 1.0
# Java's averages are over the last 10, 60 and 600 s.
AVERAGES: Final = (10, 60, 600)

HOUR_MS: Final = 3_600_000

K = TypeVar("K")


def utc_hour(wall_ms: int) -> int:
    return wall_ms // HOUR_MS % 24


@final
@dataclass(slots=True)
class Totals:
    """Counts since the start, with Java's meanings: `puts` includes internal copies."""

    puts: int = 0
    put_bytes: int = 0
    put_failures: int = 0
    plain_puts: int = 0
    """`puts` without those of system topics."""
    found: int = 0
    """Pulls that found something."""
    missed: int = 0
    transferred: int = 0
    """Messages that pulls found."""
    plain_transferred: int = 0


@final
@dataclass(frozen=True, slots=True)
class DailyTotals:
    """The totals at the last two midnights; their difference is yesterday's count."""

    puts_yesterday: int = 0
    puts_today: int = 0
    gets_yesterday: int = 0
    gets_today: int = 0


@final
class Stats:
    """The counters of one broker; a periodic service that takes a sample each second."""

    __slots__ = (
        "_began",
        "_context",
        "_figures",
        "_groups",
        "_hour",
        "_next_sample",
        "_next_sweep",
        "_own_topics",
        "_returns",
        "_samples",
        "_tables",
        "_topics",
        "broker_got",
        "broker_put",
        "kernel_counts",
        "limit",
        "local_hour",
        "longest_read_ms",
        "mornings",
        "totals",
    )

    def __init__(
        self, context: Context, figures: MessageFigures, topics: Topics, groups: Groups
    ) -> None:
        self._context: Context = context
        self._figures: MessageFigures = figures
        self._tables: tuple[Topics, Groups] = topics, groups
        self._began: float = context.now
        self._own_topics: frozenset[str] = frozenset(own_topics(context))
        self._topics: dict[str, Series] = {}
        self._groups: dict[tuple[str, str], Series] = {}
        self._returns: dict[tuple[str, str], Series] = {}
        self._samples: deque[tuple[float, int, int, int, int]] = deque(maxlen=max(AVERAGES) + 1)
        self._next_sample: float = context.now
        self._next_sweep: float = context.now + SWEEP_SECONDS
        self.broker_put = Series(0.0)
        self.broker_got = Series(0.0)
        self.totals = Totals()
        self.mornings = DailyTotals()
        self.longest_read_ms: float = 0.0
        self.kernel_counts: Callable[[], Sequence[KernelCounts]] | None = None
        self.local_hour: Callable[[int], int] = utc_hour
        self._hour = self.local_hour(context.wall_ms)
        self.limit = SERIES_MAX

    @property
    def age(self) -> float:
        """Seconds since the broker started. Series use this as their clock, because the windows of
        Java's series begin with the broker's start."""
        return self._context.now - self._began

    # ------------------------------------------------------------------ counting

    def sent(self, topic: str, count: int, size: int, calls: int = 1) -> None:
        """Count messages that were stored, and their bytes."""
        age, totals = self.age, self.totals
        totals.puts += count
        totals.put_bytes += size
        if self._is_plain(topic):
            totals.plain_puts += count
        self.broker_put.add(age, count, size, calls)
        series = self._topics.get(topic) or self._made(self._topics, topic)
        if series is not None:
            series.add(age, count, size, calls)

    def take_kernel(self) -> None:
        """Count the messages that the kernel stored since the last call."""
        if self.kernel_counts is None:
            return
        for taken in self.kernel_counts():
            self.sent(taken.topic, taken.count, taken.size, taken.requests)
            self._figures.count_kernel(taken)

    def put_failed(self, count: int = 1) -> None:
        self.totals.put_failures += count

    def got(self, group: str, topic: str, count: int, size: int) -> None:
        """Count a pull of this group that found messages."""
        age, totals = self.age, self.totals
        totals.found += 1
        totals.transferred += count
        if self._is_plain(topic):
            totals.plain_transferred += count
        self.broker_got.add(age, count, size)
        place = (topic, group)
        series = self._groups.get(place) or self._made(self._groups, place)
        if series is not None:
            series.add(age, count, size)

    def delivered(self, group: str, topic: str, count: int, size: int) -> None:
        """Count messages that a service of the broker read from one of the broker's own topics. As
        in Java they count for the rate of the service's group, and not as a pull."""
        place = (topic, group)
        series = self._groups.get(place) or self._made(self._groups, place)
        if series is not None and count:
            series.add(self.age, count, size)

    def missed(self) -> None:
        """Count a pull that found nothing."""
        self.totals.missed += 1

    def read_took(self, seconds: float) -> None:
        """Record how long a pull or pop waited for the disk. Reads within one turn take 0 s."""
        self.longest_read_ms = max(self.longest_read_ms, seconds * 1000)

    def sent_back(self, group: str, topic: str) -> None:
        """Count a message that a consumer sent back."""
        place = (topic, group)
        series = self._returns.get(place) or self._made(self._returns, place)
        if series is not None:
            series.add(self.age, 1, 0)

    def _is_plain(self, topic: str) -> bool:
        """Whether the topic belongs to users."""
        return not is_system_topic(topic) and topic not in self._own_topics

    def _made(self, table: dict[K, Series], key: K) -> Series | None:
        if len(table) >= self.limit:
            return None
        series = table[key] = Series(self.age)
        return series

    # ------------------------------------------------------------------ asking

    def topic(self, topic: str) -> Series | None:
        """The counts of messages sent to the topic."""
        return self._topics.get(topic)

    def group(self, group: str, topic: str) -> Series | None:
        """The counts of messages that the group got from the topic."""
        return self._groups.get((topic, group))

    def returns(self, group: str, topic: str) -> Series | None:
        """The counts of messages that the group sent back."""
        return self._returns.get((topic, group))

    def topic_series(self) -> Iterator[tuple[str, Series]]:
        """The series of sent messages, by topic."""
        return _series_of(self._topics)

    def group_series(self) -> Iterator[tuple[tuple[str, str], Series]]:
        """The series of messages that groups got, by topic and group."""
        return _series_of(self._groups)

    def return_series(self) -> Iterator[tuple[tuple[str, str], Series]]:
        """The series of messages that groups sent back, by topic and group."""
        return _series_of(self._returns)

    def put_tps(self, topic: str) -> float:
        series = self._topics.get(topic)
        return 0.0 if series is None else series.per_second(self.age)

    def consume_tps(self, group: str, topic: str) -> float:
        series = self._groups.get((topic, group))
        return 0.0 if series is None else series.per_second(self.age)

    def averages(self) -> tuple[str, str, str, str]:
        """Puts, pulls with and without a result, and messages found, each per second.

        Each text is "10s 60s 600s", empty where the broker's uptime is shorter, as in Java.
        """
        puts, found, missed, transferred = (
            " ".join(self._average(which, seconds) for seconds in AVERAGES) for which in range(1, 5)
        )
        return puts, found, missed, transferred

    def pulls_per_second(self) -> str:
        """The rate of all pulls in the same form; Java writes 0.0 where it has no figure."""
        sums = (
            float(self._average(2, seconds) or 0) + float(self._average(3, seconds) or 0)
            for seconds in AVERAGES
        )
        return " ".join(map(java_double, sums))

    def _average(self, which: int, seconds: int) -> str:
        samples = self._samples
        if len(samples) <= seconds:
            return ""
        last, first = samples[-1], samples[-1 - seconds]
        return java_double((last[which] - first[which]) / (last[0] - first[0]))

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return self._next_sample

    def expire(self, now: float) -> None:
        self._next_sample = now + SAMPLE_SECONDS
        self.take_kernel()
        totals = self.totals
        self._samples.append((now, totals.puts, totals.found, totals.missed, totals.transferred))
        self._look_at_the_hour()
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            age = now - self._began
            _sweep(self._topics, age, self.limit)
            _sweep(self._groups, age, self.limit)
            _sweep(self._returns, age, self.limit)
            topics, groups = self._tables
            self._figures.sweep(topics, groups)

    def _look_at_the_hour(self) -> None:
        hour = self.local_hour(self._context.wall_ms)
        if hour == 0 != self._hour:
            before, totals = self.mornings, self.totals
            self.mornings = DailyTotals(
                before.puts_today, totals.plain_puts, before.gets_today, totals.plain_transferred
            )
        self._hour = hour

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""


def _series_of(table: dict[K, Series]) -> Iterator[tuple[K, Series]]:
    """All entries. Entries may be added and removed during the iteration."""
    for key in list(table):
        series = table.get(key)
        if series is not None:
            yield key, series


def _sweep(table: dict[K, Series], age: float, limit: int) -> None:
    """Remove the series that have been idle."""
    is_full = len(table) > limit * 3 // 4
    idle_max = IDLE_WHEN_FULL_SECONDS if is_full else IDLE_SECONDS
    for key in [key for key, series in table.items() if series.idle_seconds(age) >= idle_max]:
        del table[key]
