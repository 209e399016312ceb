"""Messages delayed by level: away into SCHEDULE_TOPIC_XXXX, and back when they are due.

    {"dataVersion":DV,"offsetTable":{level:offset}}          config/delayOffset.json

Level n waits in queue n-1, in the order of arrival, which is that of delivery: all wait equally
long. The unit's tags code says when, so that only what is due is read from the log.

Invariants. A level's messages are delivered in their order, each at least once; its offset moves
when they are in the log, and is written when they are on disk there: a crash repeats at most what
was delivered since the last write. A level looks at its queue when its first message is due, not
before. A message that would be due later than its level allows - the clock went back, or the level
was made shorter - is due now, as in Java. A level that is not configured any more keeps its
progress: its messages stay in the log for days, and would all come again without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core import steps
from gantrymq.broker.core.deliveries import Delivery
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.safe_progress import AGAIN_SECONDS, SafeProgress
from gantrymq.broker.core.waiting_messages import Run, lead_away, lead_back, run_of
from gantrymq.store.delay_levels import DelayLevels
from gantrymq.store.entry import SCHEDULE_TOPIC
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import INT32_MAX, JsonObject, int_key, long_of, object_of
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.property_names import (
    DELAY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
)
from gantrymq.wire.message.record import Record

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

TOPIC: Final = SCHEDULE_TOPIC.decode()
# Under this group Java counts what the delay levels deliver.
GROUP: Final = "SCHEDULE_CONSUMER"

# After the disk failed to read; Java's number.
PAUSE_SECONDS: Final = 10.0

# A wall clock that goes back by less is not worth a look at every level.
STEP_BACK_MS: Final = 1000

NEVER: Final = float("inf")

_LEVEL_DIGITS_MAX: Final = 10  # of an int32

# Nobody lists so many; a file or a master that says more must not cost memory for good.
LEVELS_MAX: Final = 10_000


# ---------------------------------------------------------------------- away


def divert(state: State, record: Record) -> Record | tuple[int, str]:
    """A message with a level is led into the queue of that level."""
    text = properties.get(record.properties, DELAY)
    if text is None or not _may_wait(record):
        return record
    level = _level(text)
    if level is None:
        return (
            ResponseCode.MESSAGE_ILLEGAL,
            (
                f"the message is illegal, its DELAY is {text[:40]!r}: it has to be a level, from 1 "
                f"to {len(state.delays.levels.delays_ms)}; messageDelayLevel lists them"
            ),
        )
    if level <= 0:
        return record
    count = len(state.delays.levels.delays_ms)
    if level > count:
        level = count
        record.properties = properties.replace(record.properties, DELAY, str(level))
    for name in (TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS):
        record.properties = properties.delete(record.properties, name)
    return lead_away(record, SCHEDULE_TOPIC, level - 1)


def level_of(record: Record) -> int:
    """Its delay level, 0 without a sound one."""
    text = properties.get(record.properties, DELAY)
    return 0 if text is None else _level(text) or 0


def _level(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > _LEVEL_DIGITS_MAX or int(digits) > INT32_MAX:
        return None
    return int(text)


def _may_wait(record: Record) -> bool:
    kind = sys_flag.transaction_type(record.sys_flag)
    return kind in (sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT)


# ---------------------------------------------------------------------- back


@final
class _Level:
    """One level, between its look at the queue and the next."""

    __slots__ = ("delay_ms", "has_more", "is_busy", "look_ms", "number", "progress")

    def __init__(self, number: int, delay_ms: int, progress: SafeProgress[int]) -> None:
        self.number = number
        self.delay_ms = delay_ms
        self.progress = progress
        self.is_busy = False
        self.has_more = False
        """Whether messages arrived since the last look."""
        self.look_ms: float = 0.0
        """The wall-clock time of the next look."""


@dataclass(frozen=True, slots=True)
class _Restored:
    """A run, and its messages as they were sent; None for each that is not to be had."""

    run: Run
    records: list[Record | None]


def _restored(run: Run) -> _Restored:
    return _Restored(run, [each and lead_back(each) for each in run.records])


@final
class DelayService:
    """Of one broker. It delivers while the broker serves."""

    __slots__ = (
        "_data_version",
        "_has_begun",
        "_levels",
        "_look_ms",
        "_progress",
        "_seen_ms",
        "_state",
        "counters",
        "levels",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self.levels = DelayLevels(state.store.settings.message_delay_level)
        self.counters: Counter[str] = Counter()
        """How many were `delivered`, and how many `lost`: unreadable, or not to be stored."""
        self._progress: dict[int, SafeProgress[int]] = {}
        """By level, of all that anything is known of."""
        self._levels: list[_Level] = []
        for delay_ms in self.levels.delays_ms:
            self._add_level(delay_ms)
        self._data_version = DataVersion()
        self._has_begun = False
        self._look_ms = 0.0
        self._seen_ms = 0
        state.files.keep(File.DELAYS, self.content)

    def deadline(self) -> float:
        state = self._state
        if not state.serves:
            return NEVER
        if state.wall_ms < self._seen_ms - STEP_BACK_MS:
            return state.now
        return state.now + max(0.0, (self._look_ms - state.wall_ms) / 1000)

    def expire(self, now: float) -> None:
        """Look at the levels whose time has come."""
        wall_ms = self._state.wall_ms
        if not self._has_begun:
            self._begin()
        has_gone_back = wall_ms < self._seen_ms - STEP_BACK_MS
        self._seen_ms = wall_ms
        for level in self._levels:
            if not level.is_busy and (has_gone_back or level.look_ms <= wall_ms):
                self._look(level)
        self._arm()

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        count = len(self._levels)
        ours = [queue_id for topic, queue_id in queues if topic == TOPIC and queue_id < count]
        for queue_id in ours:
            level = self._levels[queue_id]
            level.has_more = True
            if not level.is_busy and level.look_ms == NEVER:
                level.look_ms = self._look_ms = 0.0
        return bool(ours)

    def begin_anew(self) -> None:
        """The works are over: go on from what is kept, in every level."""
        self._has_begun = False
        for level in self._levels:
            level.is_busy = level.has_more = False
            level.look_ms = 0.0
        self._look_ms = 0.0

    def closed(self, channel: Channel) -> None:
        """Nobody's connection matters here."""

    def offset(self, level: int) -> int:
        """The next message of the level to be delivered."""
        return self._levels[level - 1].progress.latest

    # ------------------------------------------------------------------ a level's round

    def _begin(self) -> None:
        """Levels that were configured once may have left messages."""
        self._has_begun = True
        left = self._state.store.queues.queue_ids(TOPIC)
        longest_ms = max(self.levels.delays_ms, default=0)
        while len(self._levels) <= max(left, default=-1):
            self._add_level(longest_ms)

    def _add_level(self, delay_ms: int) -> None:
        number = len(self._levels) + 1
        self._levels.append(_Level(number, delay_ms, self._progress_of(number)))

    def _progress_of(self, number: int) -> SafeProgress[int]:
        return self._progress.setdefault(number, SafeProgress(0))

    def _look(self, level: _Level) -> None:
        state = self._state
        level.is_busy = True
        level.has_more = False
        wall_ms, latest_ms = state.wall_ms, state.wall_ms + level.delay_ms
        reading = run_of(
            state.store,
            TOPIC,
            level.number - 1,
            level.progress.latest,
            lambda due_ms: not wall_ms < due_ms <= latest_ms,
        )
        state.works.start_in_role(
            steps.read_as(reading, _restored),
            partial(self._found, level),
            partial(self._failed, level),
        )

    def _found(self, level: _Level, found: object) -> None:
        assert isinstance(found, _Restored)
        run = found.run
        offset = level.progress.latest
        if run.first != offset and offset:
            self._jumped(level, run.first)
        for at, record in enumerate(found.records):
            if record is None:
                self._lose(level, run.first + at, is_read=run.records[at] is not None)
        records = [record for record in found.records if record is not None]
        size = sum(record.size for record in records)
        then = partial(self._delivered, level, run, len(records), size)
        Delivery(self._state, records, then, count=self._state.figures.count_delivered)

    def _lose(self, level: _Level, offset: int, *, is_read: bool) -> None:
        why = "it says no queue" if is_read else "the log lost it or it is damaged"
        self.counters["lost"] += 1
        self._state.effects.warning(
            f"message {offset} of delay level {level.number} is due but can not be "
            f"delivered: {why}; see gantry store check"
        )

    def _jumped(self, level: _Level, first: int) -> None:
        """The offset is outside the queue."""
        offset = level.progress.latest
        self.counters["lost"] += max(0, first - offset)
        self._state.effects.warning(
            f"delay level {level.number} goes on at message {first} rather than {offset}: its "
            "queue has none there; were they deleted by age, fileReservedTime is shorter than "
            "the delay"
        )

    def _delivered(self, level: _Level, run: Run, count: int, size: int, refused: int) -> None:
        state = self._state
        state.stats.delivered(GROUP, TOPIC, count - refused, size)
        self.counters["delivered"] += count - refused
        self.counters["lost"] += refused
        if run.end != level.progress.latest:
            level.progress.note(run.end, state.store.log.end)
            self._data_version = self._data_version.next(state.wall_ms)
            self._save_soon()
        if run.next_code is not None:
            level.look_ms = run.next_code
        elif run.is_end and not level.has_more:
            level.look_ms = NEVER
        else:
            level.look_ms = 0.0
        self._rest(level)

    def _failed(self, level: _Level, error: Exception) -> None:
        state = self._state
        text = f"delay level {level.number} can not be read: {error}"
        state.effects.failed(f"{text}; the next try is in {PAUSE_SECONDS:.0f} s", error)
        level.look_ms = 0.0
        state.works.start_in_role(
            steps.wait(state.now + PAUSE_SECONDS),
            lambda _: self._rest(level),
            lambda failure: state.effects.broken("a pause ended badly", failure),
        )

    def _rest(self, level: _Level) -> None:
        level.is_busy = False
        self._seen_ms = max(self._seen_ms, self._state.wall_ms)
        self._look_ms = min(self._look_ms, level.look_ms)

    def _arm(self) -> None:
        resting = [level.look_ms for level in self._levels if not level.is_busy]
        self._look_ms = min(resting, default=NEVER)

    # ------------------------------------------------------------------ the file

    def _save_soon(self, least_seconds: float = 0.0) -> None:
        state = self._state
        interval = state.settings.flush_delay_offset_interval / 1000
        state.files.touch(File.DELAYS, state.now + max(interval, least_seconds))

    def to_json(self) -> JsonObject:
        flushed = self._state.store.queues.log_flushed
        table: JsonObject = {
            number: safe
            for number, progress in sorted(self._progress.items())
            if (safe := progress.safe(flushed))
        }
        return {"dataVersion": self._data_version.to_json(), "offsetTable": table}

    def content(self) -> bytes:
        content = javajson.dumps_pretty(self.to_json())
        if not all(progress.is_safe for progress in self._progress.values()):
            self._save_soon(AGAIN_SECONDS)
        return content

    def load(self, content: bytes) -> None:
        """What a start finds. RemoteError where it is no such file."""
        self._data_version, table = _understood(content)
        self._progress = {number: SafeProgress(offset) for number, offset in table.items()}
        for level in self._levels:
            level.progress = self._progress_of(level.number)

    def table(self) -> bytes:
        """How far it has come, for members."""
        table: JsonObject = {
            number: progress.latest
            for number, progress in sorted(self._progress.items())
            if progress.latest
        }
        bean: JsonObject = {"dataVersion": self._data_version.to_json(), "offsetTable": table}
        return javajson.dumps_fastjson(bean)

    def take_table(self, content: bytes) -> None:
        """Be as far as the master, whose log this broker has on its disk up to there. RemoteError
        where it is no such table."""
        self.load(content)
        self._save_soon()

    def copy(self, content: bytes, log_end: int) -> None:
        """Where the master was when its log ended there, or before. RemoteError where it is no such
        table."""
        self._data_version, table = _understood(content)
        for number, offset in table.items():
            progress = self._progress_of(number)
            if offset != progress.latest:
                progress.note(offset, log_end)
                self._save_soon()


def _understood(content: bytes) -> tuple[DataVersion, dict[int, int]]:
    """The version, and offsets by level."""
    bean = object_of(javajson.loads(content, len(content) * 2), "delayOffset.json")
    table = object_of(bean.get("offsetTable") or {}, "offsetTable")
    offsets = {
        number: max(0, long_of(value, "offsetTable"))
        for key, value in table.items()
        if 1 <= (number := int_key(key, "offsetTable")) <= LEVELS_MAX
    }
    return DataVersion.from_json(bean.get("dataVersion") or {}), offsets
