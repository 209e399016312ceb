"""Delivers timer messages: reads the timer queue forward, and delivers each second's messages.

The service does one thing at a time, the first of these that is due:

    part      split the next stretch of the calendar, before it begins
    deliver   the next second that has passed: first recalls, then the others
    roll      write messages again at the queue's end, so that the log may delete their old place
              (roll_plan.py chooses them)
    take      read messages that arrived into the calendar

Invariants. Before a second is delivered, everything is taken that was in the queue when the second
had passed, so that no acknowledged recall comes too late. A message is delivered at least once, and
not before its second has passed. A start reads the queue again; timer_progress.py says which
messages need no delivery. The file says so only when the delivered or rolled messages are on disk,
so that a crash repeats at most the deliveries since the last write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.figures.stats_series import Series
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.schedule.deliveries import Delivery
from gantrymq.broker.core.schedule.message_restore import COUNT_MAX, messages_of, run_of
from gantrymq.broker.core.schedule.roll_plan import RollPlan
from gantrymq.broker.core.schedule.timer_messages import (
    Due,
    Timed,
    TimedRun,
    copies_of,
    due_of,
    timed_of,
)
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.broker.core.schedule.timer_progress_file import TimerProgressFile
from gantrymq.broker.core.schedule.timer_spans import TimerSpans
from gantrymq.broker.core.schedule.timers import TOPIC
from gantrymq.broker.core.state import State

# The pause after a failed read.
PAUSE_SECONDS: Final = 10.0

# A smaller step back of the wall clock may be corrected before it matters.
CLOCK_STEP_SECONDS: Final = 2


@final
class _Second:
    """The second that is being delivered; recalls precede the other messages."""

    __slots__ = ("at", "offsets", "recalled", "second")

    def __init__(self, second: int, words: list[int]) -> None:
        self.second = second
        self.offsets = [word >> 1 for word in words if word & 1]
        self.offsets += [word >> 1 for word in words if not word & 1]
        self.recalled: set[str] = set()
        self.at = 0


@final
class TimerService:
    """The timer service of one broker; it delivers while the broker serves as master."""

    __slots__ = (
        "_has_more",
        "_is_busy",
        "_known",
        "_late",
        "_passed",
        "_rolls",
        "_second",
        "_spans",
        "_state",
        "_taken",
        "_target",
        "_timers",
        "counters",
        "deliveries",
        "progress",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self.counters: Counter[str] = Counter()
        """How many were `delivered`, `recalled`, `rolled`, and `lost`: unreadable or refused by the
        store."""
        self.deliveries: Series = Series(0.0)
        self._timers = state.timers
        self._rolls = RollPlan(state)
        self._spans = TimerSpans(self._rolls.age_ms)
        self.progress = TimerProgressFile(state)
        self._known = TimerProgress()
        """The progress when this role began."""
        self._passed = 0
        """The second up to which everything taken is delivered; lower again when the clock went
        back."""
        self._taken = 0
        self._target: int | None = None
        self._late: tuple[int, int] | None = None
        """The first message taken after its second was delivered, and the second used instead."""
        self._second: _Second | None = None
        self._has_more = True
        self._is_busy = False

    def begin_anew(self) -> None:
        """Restart from the saved progress, when no task of the service is running."""
        self._known = self._place_in_queue()
        if self._known != self.progress.latest:
            self.progress.note(self._known)
        self._passed = self._known.delivered
        self._taken = self._known.low
        self._timers.clear()
        self._spans = TimerSpans(self._rolls.age_ms)
        self._rolls.stop_choosing()
        self._target = self._late = self._second = None
        self._has_more = True
        self._is_busy = False

    def _place_in_queue(self) -> TimerProgress:
        """The latest place, adapted to the queue that exists now. Timers that the log has lost
        since the place was noted are counted.

        A slave counts none, because it delivers none. An elected member does not count timers
        beyond its log's end: it cut them off when its role changed, and they were never
        acknowledged.
        """
        state, place = self._state, self.progress.latest
        queue = state.store.queues.find(TOPIC, 0)
        start, end = (0, 0) if queue is None else (int(queue.minimum), int(queue.end))
        if state.identity.is_master:
            missing = place.missing(start, place.taken if state.identity.is_elected else end)
            self._lose(
                missing,
                f"at most so many from offset {place.low} on are missing from their queue, which"
                f" begins at {start} and ends at {end}",
            )
        return place.within(start, end)

    @property
    def count(self) -> int:
        """How many timers wait."""
        return self._timers.count

    @property
    def untaken(self) -> int:
        """The number of timer messages that are stored and not in the calendar yet."""
        queue = self._state.store.queues.find(TOPIC, 0)
        return 0 if queue is None else max(0, queue.end - self._taken)

    def late_ms(self, wall_ms: int) -> int:
        """The milliseconds since the end of the first second that is due and not delivered yet; 0
        if deliveries are on time."""
        next_second = self._timers.calendar.next_second()
        second = next_second if self._second is None else self._second.second
        return max(0, wall_ms - int(second + 1) * 1000) if second < NEVER else 0

    def deadline(self) -> float:
        state = self._state
        if self._is_busy or not state.serves:
            return NEVER
        if self._has_more or self._second or self._rolls.is_choosing or self._timers.rolling:
            return state.now
        second = min(self._timers.calendar.parts_at(), self._timers.calendar.next_second() + 1)
        due = state.now + max(0.0, (second * 1000 - state.wall_ms) / 1000)
        return min(due, self._rolls.next_look) if len(self._timers.calendar) else due

    def expire(self, now: float) -> None:
        """Do the first thing that is due."""
        second = self._state.wall_ms // 1000
        if self._passed > second + CLOCK_STEP_SECONDS:
            self._passed = second  # the clock went back: new messages must not count as late
        if self._rolls.is_choosing:
            self._rolls.choose_more()
        elif self._timers.calendar.parts_at() <= second:
            self._timers.calendar.part()
        elif self._second is not None:
            self._deliver(self._second)
        elif self._timers.calendar.next_second() < second:
            self._begin_second()
        elif self._timers.rolling:
            self._roll()
        elif now >= self._rolls.next_look:
            self._rolls.look(self._spans, self._taken)
        elif self._has_more:
            self._take()

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        has_more = any(topic == TOPIC for topic, _ in queues)
        self._has_more = self._has_more or has_more
        return has_more

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""

    def _read_failed(self, error: Exception) -> None:
        """Pause the service; the failed read is then repeated."""
        state = self._state
        state.effects.failed(
            f"reading timer messages failed retry_in={PAUSE_SECONDS:.0f}s: {error}",
            error,
        )
        state.task_runner.start_in_role(
            tasks.wait(state.now + PAUSE_SECONDS),
            lambda _: self._rest(),
            lambda failure: state.effects.broken(
                "waiting for a retry raised an exception", failure
            ),
        )

    def _rest(self) -> None:
        self._is_busy = False

    def _lose(self, count: int, text: str) -> None:
        if count:
            self.counters["lost"] += count
            self._state.effects.warning(
                f"lost timer messages count={count}: {text}; run gantry store check"
            )

    # ------------------------------------------------------------------ take

    def _take(self) -> None:
        state = self._state
        self._is_busy = True
        self._has_more = False
        reading = run_of(state.store, TOPIC, 0, self._taken)
        work = tasks.read_as(reading, timed_of)
        state.task_runner.start_in_role(work, self._took, self._take_failed)

    def _take_failed(self, error: Exception) -> None:
        self._has_more = True
        self._read_failed(error)

    def _took(self, found: object) -> None:
        assert isinstance(found, TimedRun)
        run, timed = found
        if run.first > self._taken:
            self._lose(
                run.first - self._taken,
                f"offsets {self._taken} to {run.first - 1} were deleted with the log before they"
                " were read",
            )
        unreadable = len(run.records) - len(timed)
        self._lose(
            unreadable,
            f"some of the offsets {run.first} to {run.end - 1} cannot be read, or have no due time",
        )
        for one in timed:
            self._note_one(one)
        has_moved = run.end != self._taken
        self._taken = run.end
        if has_moved:
            # The file then tells the next start that these messages wait.
            self.progress.note(self._come_to(self.progress.latest))
        if run.is_end:
            self._target = None if self._target is None else min(self._target, run.end)
        else:
            self._has_more = True
        self._rest()

    def _note_one(self, one: Timed) -> None:
        is_done = self._known.is_done(one.offset, one.second)
        self._spans.add(one.offset, one.stored_ms, waits=not is_done)
        if is_done:
            return
        second = max(one.second, self._passed + 1)
        if second > one.second:
            first, last_second = self._late or (one.offset, second)
            self._late = first, max(last_second, second)
        self._timers.calendar.add(second, one.offset, is_recall=one.is_recall)

    # ------------------------------------------------------------------ deliver

    def _begin_second(self) -> None:
        """Take all messages that were in the queue when the second had passed; then deliver it."""
        if self._target is None:
            queue = self._state.store.queues.find(TOPIC, 0)
            self._target = 0 if queue is None else queue.end
        if self._taken < self._target:
            self._take()
            return
        self._target = None
        self._second = _Second(*self._timers.calendar.take())
        self._deliver(self._second)

    def _deliver(self, second: _Second) -> None:
        state = self._state
        self._is_busy = True
        offsets = second.offsets[second.at : second.at + COUNT_MAX]
        reading = messages_of(state.store, TOPIC, 0, offsets)
        work = tasks.read_as(reading, partial(due_of, second.recalled, state.wall_ms))
        state.task_runner.start_in_role(work, partial(self._found, second), self._read_failed)

    def _found(self, second: _Second, due: object) -> None:
        assert isinstance(due, Due)
        self.counters["recalled"] += due.recalled
        self._lose(
            due.missing,
            f"those due at {second.second} s are deleted from the log, damaged, or name no queue",
        )
        then = partial(self._delivered, second, due.looked_at, len(due.messages))
        Delivery(self._state, due.messages, then, count=self._state.figures.count_timer_out)

    def _delivered(self, second: _Second, looked_at: int, count: int, refused: int) -> None:
        self.counters["delivered"] += count - refused
        self.counters["lost"] += refused
        if count > refused:
            self.deliveries.add(self._state.stats.age, count - refused, 0)
        end = second.at + looked_at
        for offset in second.offsets[second.at : end]:
            self._spans.done(offset)
        second.at = end
        if end >= len(second.offsets):
            self._second = None
            self._end_second(second.second)
        self._rest()

    def _end_second(self, second: int) -> None:
        if self._late is not None and self._late[1] <= second:
            self._late = None
        self._came_to(second)

    def _came_to(self, second: int) -> None:
        self._passed = second
        self.progress.note(self._come_to(self.progress.latest))

    # ------------------------------------------------------------------ roll

    def _roll(self) -> None:
        state = self._state
        self._is_busy = True
        reading = messages_of(state.store, TOPIC, 0, self._rolls.next_offsets())
        work = tasks.read_as(reading, copies_of)
        state.task_runner.start_in_role(work, self._roll_found, self._read_failed)

    def _roll_found(self, copies: object) -> None:
        assert isinstance(copies, list)
        there = [copy for copy in copies if copy is not None]
        missing = len(copies) - len(there)
        self._lose(missing, "they were deleted or damaged before they were rolled")
        Delivery(self._state, there, partial(self._roll_put, len(copies), len(there)))

    def _roll_put(self, looked_at: int, count: int, refused: int) -> None:
        self.counters["rolled"] += count - refused
        self.counters["lost"] += refused
        mark = self._rolls.rolled(looked_at, self._spans)
        place = self._come_to(self.progress.latest)
        self.progress.note(place.rolled_below(*mark, self._state.wall_ms // 1000))
        self._rest()

    # ------------------------------------------------------------------ progress

    def _come_to(self, place: TimerProgress) -> TimerProgress:
        taken = self._taken if self._late is None else self._late[0]
        return place.come_to(self._passed, self._spans.low(self._taken), taken)

    def take_table(self, content: bytes) -> None:
        """Take over the master's progress; the log up to there is on this broker's disk.

        Raises RemoteError for malformed content.
        """
        self.load(content)
        self.progress.save_soon()

    def load(self, content: bytes) -> None:
        """Load the file at startup. Raises RemoteError for malformed content."""
        self.progress.load(content)
        self._known = self.progress.latest
        self._passed = self._known.delivered
        self._taken = self._known.low
