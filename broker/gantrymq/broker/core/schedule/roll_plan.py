"""Chooses which timer messages are rolled: written again before the log deletes their old place.

Every minute `look` asks for a stretch of the timer queue that is old, or whose messages are nearly
all delivered. The waiting messages of that stretch leave the calendar piece by piece
(`choose_more`), and wait in `Timers.rolling` until the timer service has written them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from gantrymq.broker.core.schedule.message_restore import COUNT_MAX
from gantrymq.broker.core.schedule.timer_progress import Mark
from gantrymq.broker.core.schedule.timer_spans import TimerSpans
from gantrymq.broker.core.schedule.timers import TOPIC
from gantrymq.broker.core.state import State

# How often to look for messages to roll.
ROLL_LOOK_SECONDS: Final = 60.0

# Messages due sooner are not rolled: their second could pass meanwhile. The bound is rounded to
# full minutes, so that few marks describe what was rolled.
ROLL_AHEAD_SECONDS: Final = 300
MINUTE_SECONDS: Final = 60

# The part of fileReservedTime after which messages are rolled. The rest is for messages whose roll
# is delayed, and for times when the broker is down.
ROLL_PART: Final = 0.75
ROLL_MS_MIN: Final = 600_000
HOUR_MS: Final = 3_600_000


@final
class RollPlan:
    """The messages that the timer service of one broker has to roll; the service owns it."""

    __slots__ = (
        "_bounds",
        "_state",
        "_sweep",
        "_timers",
        "_told_minimum",
        "is_choosing",
        "next_look",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._timers = state.timers
        self._sweep: Iterator[list[int]] | None = None
        self._bounds: Mark = (0, 0)
        """The offset below which, and the second from which on, messages are being rolled."""
        self._told_minimum = 0
        self.is_choosing = False
        """Whether messages that have to be rolled are still in the calendar: `choose_more` is
        due."""
        self.next_look = 0.0

    @property
    def age_ms(self) -> int:
        """How old a message is when it is rolled; fileReservedTime may change while the broker
        runs."""
        reserved_ms = self._state.store.settings.file_reserved_time * HOUR_MS
        return max(ROLL_MS_MIN, int(reserved_ms * ROLL_PART))

    def stop_choosing(self) -> None:
        self._sweep = None
        self.is_choosing = False

    def look(self, spans: TimerSpans, taken: int) -> None:
        """Choose what has to be rolled, and warn about timers that the log has already lost.

        `taken` is the offset up to which the queue is in the calendar.
        """
        state = self._state
        self.next_look = state.now + ROLL_LOOK_SECONDS
        self._warn_of_losses(spans.low(taken), taken)
        spans.roll_after(self.age_ms)
        below = spans.next_roll(state.wall_ms, taken)
        if below is not None:
            # There may be more: many stretches are old at once after fileReservedTime was
            # shortened.
            self.next_look = state.now
            soon = state.wall_ms // 1000 + ROLL_AHEAD_SECONDS
            second = self._timers.calendar.whole_from(-(-soon // MINUTE_SECONDS) * MINUTE_SECONDS)
            self._bounds = below, second
            self._sweep = self._timers.calendar.take_below(below, second)
            self.is_choosing = True

    def _warn_of_losses(self, low: int, taken: int) -> None:
        queue = self._state.store.queues.find(TOPIC, 0)
        # Messages that are deleted before they are taken are counted when taking goes on.
        minimum = 0 if queue is None else min(int(queue.minimum), taken)
        if low < minimum != self._told_minimum:
            self._told_minimum = minimum
            self._state.effects.warning(
                f"timer messages were deleted with the log from={low} to={minimum - 1}:"
                " those not delivered yet are lost, and are counted when they are due; raise"
                " fileReservedTime, or free space on the disk"
            )

    def choose_more(self) -> None:
        """Take the next piece of the chosen messages out of the calendar."""
        piece = None if self._sweep is None else next(self._sweep, None)
        if piece is not None:
            self._timers.rolling += piece
            return
        self.stop_choosing()
        self._timers.rolling.sort()

    def next_offsets(self) -> list[int]:
        """The offsets of the messages to roll next."""
        timers = self._timers
        return timers.rolling[timers.rolled : timers.rolled + COUNT_MAX]

    def rolled(self, count: int, spans: TimerSpans) -> Mark:
        """Note that the next `count` messages need no more rolling. Return the offset below which,
        and the second from which on, all messages are rolled now."""
        timers = self._timers
        for offset in timers.rolling[timers.rolled : timers.rolled + count]:
            spans.done(offset)
        timers.rolled += count
        below, second = self._bounds
        if timers.rolled < len(timers.rolling):
            below = timers.rolling[timers.rolled]  # they are rolled in the order of their offsets
        else:
            timers.rolling = []
            timers.rolled = 0
        return below, second
