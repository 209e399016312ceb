"""Fills the table of producer sessions at a start, from its newest copy and the log behind that.

A copy is valid if the log has every record that the copy reflects. An invalid copy is removed, and
that is synced: otherwise it would seem valid later, when the log has grown again. Without a valid
copy the whole log is read. If there never was a copy, the part that recovery dispatches is enough,
because no session is older than the queues' flush position.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.sessions import snapshot
from gantrymq.store.sessions.table import ProducerSessions

PROGRESS: Final = "sessions"


@final
class Recall:
    """One run over a recovered log."""

    __slots__ = ("_disk", "_log", "_reader", "_sessions")

    def __init__(
        self, disk: Disk, log: CommitLog, reader: EntryReader, sessions: ProducerSessions
    ) -> None:
        self._disk = disk
        self._log = log
        self._reader = reader
        self._sessions = sessions

    def run(self, dispatched_from: int, *, is_ours: bool) -> ProgressTask[None]:
        """Fill the table; the progress is in bytes of the log. `dispatched_from` is where recovery
        began to dispatch; `is_ours` says whether one of our stores wrote the directory last."""
        log = self._log
        begin = max(log.start, self._restore(dispatched_from, is_ours=is_ours))
        yield from self._walk(begin)

    def _restore(self, dispatched_from: int, *, is_ours: bool) -> int:
        """Restore the newest valid copy; return the log position from which the table is
        incomplete."""
        log, sessions = self._log, self._sessions
        found = snapshot.load(self._disk)
        whole = {path: each for path, each in found.items() if each is not None}
        sound = {path: each for path, each in whole.items() if is_ours and each.is_of(log.end)}
        snapshot.remove(self._disk, [path for path in whole if path not in sound])
        newest = max(sound.values(), key=lambda each: each.position, default=None)
        sessions.clear()
        if newest is None:
            return log.start if found else dispatched_from
        for state in newest.states:
            sessions.restore(state)
        return newest.position

    def _walk(self, begin: int) -> ProgressTask[None]:
        log, sessions = self._log, self._sessions
        walk = LogWalk(log.segments, self._reader, LogPosition(begin), until=log.end)
        for entries in walk.chunks():
            for entry in entries:
                if entry.session:
                    sessions.note(entry.session, entry.physical_offset, entry.store_timestamp_ms)
            yield Progress(PROGRESS, walk.position - begin, log.end - begin)
        if walk.position < log.end and begin > log.start:
            sessions.clear()  # no record begins at the copy's position: read all
            yield from self._walk(log.start)
