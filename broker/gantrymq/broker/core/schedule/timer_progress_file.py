"""Keeps the progress of timers: saves it to config/timerOffset.json, and shows it to other brokers.

Members of a group and Gantry's slaves get the complete progress (`table`, `checkpoint`), slaves of
Java the fields that Java knows. The file has the latest progress whose messages are on disk; when
that lags behind, the file is written again soon.
"""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.schedule.durable_progress import AGAIN_SECONDS, DurableProgress
from gantrymq.broker.core.schedule.timer_checkpoint import TimerCheckpoint
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.broker.core.schedule.timers import TOPIC
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson


@final
class TimerProgressFile:
    """The progress of one broker's timers; the timer service owns it and notes the progress."""

    __slots__ = ("_progress", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._progress: DurableProgress[TimerProgress] = DurableProgress(TimerProgress())
        state.files.keep(File.TIMERS, self.content)

    @property
    def latest(self) -> TimerProgress:
        return self._progress.latest

    def note(self, place: TimerProgress) -> None:
        """Record progress whose messages are in the log."""
        self._progress.note(place, self._state.store.log.end)
        self.save_soon()

    def save_soon(self, least_seconds: float = 0.0) -> None:
        state = self._state
        interval = state.settings.flush_delay_offset_interval / 1000
        state.files.touch(File.TIMERS, state.now + max(interval, least_seconds))

    def content(self) -> bytes:
        """The content of the file."""
        place = self._safe()
        if not self._progress.is_safe:
            self.save_soon(AGAIN_SECONDS)
        return javajson.dumps_pretty(place.bean())

    def table(self) -> bytes:
        """The current progress, for the members of the group."""
        return javajson.dumps_fastjson(self._progress.latest.bean())

    def checkpoint(self, *, for_own: bool = False) -> TimerCheckpoint:
        """The progress that is on disk, for slaves: Java's, or with `for_own` Gantry's."""
        place = self._safe()
        read_ms = (place.delivered + 1) * 1000 if place.delivered else 0
        return TimerCheckpoint(read_ms, place.taken, place if for_own else None)

    def copy(self, checkpoint: TimerCheckpoint, log_end: int) -> None:
        """Take over a master's checkpoint, which it had reached when its log ended at `log_end` or
        before."""
        place = checkpoint.place
        if place is None:
            queue = self._state.store.queues.find(TOPIC, 0)
            low = 0 if queue is None else int(queue.minimum)
            place = TimerProgress(max(0, checkpoint.read_ms // 1000 - 1), low, checkpoint.taken)
        if place != self._progress.latest:
            self._progress.note(place, log_end)
            self.save_soon()

    def load(self, content: bytes) -> None:
        """Take the content of the file. Raises RemoteError for malformed content."""
        self._progress = DurableProgress(TimerProgress.decode(content))

    def _safe(self) -> TimerProgress:
        return self._progress.safe(self._state.store.queues.log_flushed)
