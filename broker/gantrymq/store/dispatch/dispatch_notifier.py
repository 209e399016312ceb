"""Dispatches what the log received, and reports which queues have new messages.

Records are dispatched when they are written. If the disk refuses that, they are read from the log
again and dispatched later, before any record behind them.

Invariant. Each arrival is reported once, and not before its queue has the unit and the log is
readable up to there. A queue offset that does not continue its queue is a defect, unless the log is
a copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, final

from mypy_extensions import i64

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry

# Each one is a group. If the log is not readable for long, for example because followers lag, later
# groups are merged into one.
UNTOLD_MAX: Final = 1024


@final
class DispatchNotifier:
    """Dispatches the records of one store, which owns it, and reports the arrivals."""

    __slots__ = (
        "_dispatcher",
        "_is_copy",
        "_log",
        "_reader",
        "_takes_over",
        "_untold",
        "failure",
    )

    def __init__(
        self,
        log: CommitLog,
        dispatcher: Dispatcher,
        levels: DelayLevels,
        *,
        is_copy: bool,
    ) -> None:
        self._dispatcher: Dispatcher = dispatcher
        self._is_copy: bool = is_copy
        self._log: CommitLog = log
        self._reader = EntryReader(log.segments.file_bytes, levels, verify_body=False)
        self._takes_over: bool = False
        self._untold: deque[tuple[int, Sequence[tuple[str, int]]]] = deque()
        self.failure: DiskError | None = None
        """Why queues and index are behind the log, or None."""

    @property
    def is_empty(self) -> bool:
        return not self._untold

    @property
    def told_at(self) -> i64:
        """The log position from which on the oldest arrival may be reported. There must be one."""
        return self._untold[0][0]

    def begin(self) -> None:
        """Start after recovery. Arrivals that recovery dispatched are not reported."""
        self._dispatcher.take_arrived()
        self._dispatcher.begins_anew = self._is_copy

    def lead(self) -> None:
        """The log is no copy any more. The change takes effect when all copied records are
        dispatched."""
        if self._dispatcher.position < self._log.end:
            self.catch_up()
        self._takes_over = self.failure is not None
        if not self._takes_over:
            self._is_copy = self._dispatcher.begins_anew = False

    def follow(self) -> None:
        """The log is a copy from now on."""
        self._takes_over = False
        self._is_copy = self._dispatcher.begins_anew = True

    def dispatch(self, entries: Sequence[DispatchEntry]) -> None:
        """Dispatch what was just written. If that fails, `catch_up` continues from there."""
        if self.failure is not None:
            return  # what could not be dispatched comes first
        try:
            self._dispatcher.dispatch(entries)
        except DiskError as error:
            self._failed(error)
        self._note()

    def catch_up(self) -> None:
        """Dispatch from the log what could not be dispatched before."""
        dispatcher, end = self._dispatcher, self._log.end
        walk = LogWalk(self._log.segments, self._reader, dispatcher.mark, until=end)
        try:
            for entries in walk.chunks():
                dispatcher.dispatch(entries)
        except DiskError as error:
            self._failed(error)
        else:
            if dispatcher.position < end:
                raise CorruptionError(
                    f"what this process wrote at {walk.position} of the log cannot be read again;"
                    " look for errors of the disk, and restart the broker"
                )
            self.failure = None
            if self._takes_over:
                self.lead()
        self._note()

    def _failed(self, error: DiskError) -> None:
        """Keep the error. A failed sync is final: it may occur when a queue begins anew and the old
        queue's folder is removed."""
        if error.operation in {"sync", "sync_folder"}:
            raise SyncFailedError(error) from error
        self.failure = error

    def _note(self) -> None:
        # Otherwise this process has assigned wrong queue offsets, and must not continue.
        assert not self._dispatcher.gaps, f"units are missing: {self._dispatcher.gaps}"
        arrived = self._dispatcher.take_arrived()
        if not arrived:
            return
        if len(self._untold) >= UNTOLD_MAX:  # the last ones are reported together
            told = dict.fromkeys((*self._untold.pop()[1], *arrived))
            arrived = tuple(told)
        self._untold.append((self._dispatcher.position, arrived))

    def take(self, readable: i64) -> Sequence[tuple[str, int]]:
        """Topic and queue id of the queues with new messages below this log position."""
        untold = self._untold
        if not untold or untold[0][0] > readable:
            return ()
        first = untold.popleft()[1]
        if not untold or untold[0][0] > readable:
            return first
        arrived = dict.fromkeys(first)
        while untold and untold[0][0] <= readable:
            arrived.update(dict.fromkeys(untold.popleft()[1]))
        return tuple(arrived)
