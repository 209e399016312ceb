"""Implements delay levels: stores delayed messages in SCHEDULE_TOPIC_XXXX, and delivers due ones.

    {"dataVersion":DV,"offsetTable":{level:offset}}          config/delayOffset.json

Messages of level n wait in queue n-1, in the order of arrival. All of them wait equally long, so
that is also the order of delivery. The tags code of a consume queue unit is the delivery time, so
only due messages are read from the log.

Invariants:
- The messages of a level are delivered in order, each at least once. The level's offset advances
  when the delivered messages are in the log, and is saved once they are on disk: a crash repeats at
  most the deliveries since the last save.
- A level reads its queue when its first message is due, not before.
- A message that would be due later than its level's delay from now is due now, as in RocketMQ. This
  happens after the clock went back, or after the level was made shorter.
- A level that is no longer configured keeps its offset: its messages stay in the log for days, and
  would all be delivered again without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import INT_MAX, NEVER
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.schedule.deliveries import Delivery
from gantrymq.broker.core.schedule.durable_progress import AGAIN_SECONDS, DurableProgress
from gantrymq.broker.core.schedule.message_restore import Run, redirect, restore, run_of
from gantrymq.broker.core.state import State
from gantrymq.store.record.dispatch_entry import SCHEDULE_TOPIC
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import JsonObject, int_key, long_of, object_of
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.property_names import (
    DELAY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
)
from gantrymq.wire.message.record import Record

TOPIC: Final = SCHEDULE_TOPIC.decode()
# RocketMQ counts deliveries of the delay levels under this group.
GROUP: Final = "SCHEDULE_CONSUMER"

# Before a retry after a failed read, as in RocketMQ.
PAUSE_SECONDS: Final = 10.0

# If the wall clock goes back by more, all levels are read again.
STEP_BACK_MS: Final = 1000


_LEVEL_DIGITS_MAX: Final = 10  # of an int32

# Levels beyond it in the file or in the master's table are ignored: they would cost memory forever.
LEVELS_MAX: Final = 10_000


# ---------------------------------------------------------------------- away


def rewrite(state: State, record: Record) -> Record | tuple[int, str]:
    """Redirect a message with a delay level into the queue of that level; other messages are
    returned unchanged. Returns code and remark if the level is not a number."""
    text = properties.get(record.properties, DELAY)
    if text is None or not _may_wait(record):
        return record
    level = _level(text)
    if level is None:
        return (
            ResponseCode.MESSAGE_ILLEGAL,
            (
                f"the message is illegal, its DELAY is {text[:40]!r}: it has to be a level, from 1 "
                f"to {len(state.delay_levels.delays_ms)}; messageDelayLevel lists them"
            ),
        )
    if level <= 0:
        return record
    count = len(state.delay_levels.delays_ms)
    if level > count:
        level = count
        record.properties = properties.replace(record.properties, DELAY, str(level))
    for name in (TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS):
        record.properties = properties.delete(record.properties, name)
    return redirect(record, SCHEDULE_TOPIC, level - 1)


def level_of(record: Record) -> int:
    """The record's delay level; 0 if it has none, or an invalid one."""
    text = properties.get(record.properties, DELAY)
    return 0 if text is None else _level(text) or 0


def _level(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > _LEVEL_DIGITS_MAX or int(digits) > INT_MAX:
        return None
    return int(text)


def _may_wait(record: Record) -> bool:
    kind = sys_flag.transaction_type(record.sys_flag)
    return kind in (sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT)


# ---------------------------------------------------------------------- back


@final
class _Level:
    """The state of one delay level. `DelayService` owns it."""

    __slots__ = ("delay_ms", "has_more", "is_busy", "look_ms", "number", "progress")

    def __init__(self, number: int, delay_ms: int, progress: DurableProgress[int]) -> None:
        self.number = number
        self.delay_ms = delay_ms
        self.progress = progress
        self.is_busy = False
        self.has_more = False
        """Whether messages arrived since the last read."""
        self.look_ms: float = 0.0
        """The wall-clock time of the next read, in ms."""


@dataclass(frozen=True, slots=True)
class _Restored:
    """A run and its messages with their original topics; None for each that is unreadable."""

    run: Run
    records: list[Record | None]


def _restored(run: Run) -> _Restored:
    return _Restored(run, [each and restore(each) for each in run.records])


@final
class DelayService:
    """The service of one broker that delivers the messages of its delay levels. It delivers while
    the broker serves as master."""

    __slots__ = (
        "_data_version",
        "_has_begun",
        "_levels",
        "_look_ms",
        "_progress",
        "_seen_ms",
        "_state",
        "counters",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self.counters: Counter[str] = Counter()
        """How many messages were `delivered`, and how many `lost`: unreadable, or refused by the
        store."""
        self._progress: dict[int, DurableProgress[int]] = {}
        """By level number, of all levels that have an offset, configured or not."""
        self._levels: list[_Level] = []
        for delay_ms in state.delay_levels.delays_ms:
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
        """Read the levels that are due."""
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
        """Restart every level from its saved offset, after its tasks were cancelled."""
        self._has_begun = False
        for level in self._levels:
            level.is_busy = level.has_more = False
            level.look_ms = 0.0
        self._look_ms = 0.0

    def closed(self, channel: Channel) -> None:
        """Connections do not matter here."""

    def offset(self, level: int) -> int:
        """The queue offset of the level's next message to deliver."""
        return self._levels[level - 1].progress.latest

    # ------------------------------------------------------------------ one round of a level
    # `_look` reads a run of due messages, `_found` stores them in their own topics, `_delivered`
    # advances the offset and plans the next read, `_rest` ends the round.

    def _begin(self) -> None:
        """Add levels for queues with messages of levels that are no longer configured."""
        self._has_begun = True
        left = self._state.store.queues.queue_ids(TOPIC)
        longest_ms = max(self._state.delay_levels.delays_ms, default=0)
        while len(self._levels) <= max(left, default=-1):
            self._add_level(longest_ms)

    def _add_level(self, delay_ms: int) -> None:
        number = len(self._levels) + 1
        self._levels.append(_Level(number, delay_ms, self._progress_of(number)))

    def _progress_of(self, number: int) -> DurableProgress[int]:
        return self._progress.setdefault(number, DurableProgress(0))

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
        state.task_runner.start_in_role(
            tasks.read_as(reading, _restored),
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
        why = "it names no queue" if is_read else "the log no longer has it, or it is damaged"
        self.counters["lost"] += 1
        self._state.effects.warning(
            f"lost delayed message level={level.number} offset={offset}: {why};"
            " run gantry store check"
        )

    def _jumped(self, level: _Level, first: int) -> None:
        """Warn that the level's offset was outside its queue, and count the skipped messages."""
        offset = level.progress.latest
        self.counters["lost"] += max(0, first - offset)
        self._state.effects.warning(
            f"skipped delayed messages level={level.number} from={offset} to={first}: the queue has"
            " no messages there; if they were deleted by age, fileReservedTime is shorter than the"
            " delay"
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
        text = f"reading delayed messages failed level={level.number}"
        state.effects.failed(f"{text} retry_in={PAUSE_SECONDS:.0f}s: {error}", error)
        level.look_ms = 0.0
        state.task_runner.start_in_role(
            tasks.wait(state.now + PAUSE_SECONDS),
            lambda _: self._rest(level),
            lambda failure: state.effects.broken(
                "waiting for a retry raised an exception", failure
            ),
        )

    def _rest(self, level: _Level) -> None:
        """End the round of a level: its next read is at `look_ms`."""
        level.is_busy = False
        self._seen_ms = max(self._seen_ms, self._state.wall_ms)
        self._look_ms = min(self._look_ms, level.look_ms)

    def _arm(self) -> None:
        """Set the service's deadline to the earliest read of the levels that are not busy."""
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
        """Load the content of the file at a start. RemoteError if it is not such a file."""
        self._data_version, table = _understood(content)
        self._progress = {number: DurableProgress(offset) for number, offset in table.items()}
        for level in self._levels:
            level.progress = self._progress_of(level.number)

    def table(self) -> bytes:
        """The latest offset of each level, as it is replicated to the members of the group."""
        table: JsonObject = {
            number: progress.latest
            for number, progress in sorted(self._progress.items())
            if progress.latest
        }
        bean: JsonObject = {"dataVersion": self._data_version.to_json(), "offsetTable": table}
        return javajson.dumps_fastjson(bean)

    def take_table(self, content: bytes) -> None:
        """Replace the offsets by the master's. The caller has checked that this broker's disk has
        the log up to that point. RemoteError if `content` is not such a table."""
        self.load(content)
        self._save_soon()

    def copy(self, content: bytes, log_end: int) -> None:
        """Take the master's offsets, which it had when its log ended at or before `log_end`; each
        is saved once this broker's disk has the log up to `log_end`. RemoteError if `content` is
        not such a table."""
        self._data_version, table = _understood(content)
        for number, offset in table.items():
            progress = self._progress_of(number)
            if offset != progress.latest:
                progress.note(offset, log_end)
                self._save_soon()


def _understood(content: bytes) -> tuple[DataVersion, dict[int, int]]:
    """The data version and the offsets by level."""
    bean = object_of(javajson.loads(content, len(content) * 2), "delayOffset.json")
    table = object_of(bean.get("offsetTable") or {}, "offsetTable")
    offsets = {
        number: max(0, long_of(value, "offsetTable"))
        for key, value in table.items()
        if 1 <= (number := int_key(key, "offsetTable")) <= LEVELS_MAX
    }
    return DataVersion.from_json(bean.get("dataVersion") or {}), offsets
