"""Flushes the index in three steps, each synced before the next, and tracks what is on disk.

    1 the entries        2 the slots that name them        3 the header that counts them

The third step waits until the log is synced up to the last record counted: so a header never names
a record that a crash can take away. `flushed` is the position up to which the index had the log's
keys when the last flush began; the checkpoint keeps its store time as indexMsgTimestamp. Keys
entered during a flush belong to the next one.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Completion, DiskError
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSnapshot

# A busy index changes every page of its slots: a flush writes up to 20 MB.
FLUSH_INTERVAL_MS: Final = 60_000

# A flush begins earlier if the log is this far ahead, because a crash means entering its keys
# again.
BEHIND_BYTES: Final = 512 << 20
RETRY_SECONDS: Final = 1.0


@final
class IndexFlush:
    """The flushes of one store's index."""

    __slots__ = (
        "_background",
        "_index",
        "_mark",
        "_next",
        "_retry",
        "_snapshots",
        "_step",
        "_tickets",
        "flushed",
    )

    def __init__(
        self, index: Index, background: Background, now: float, flushed: LogPosition
    ) -> None:
        """`flushed`: the index has the keys of everything below it on disk."""
        self._index = index
        self._background = background
        self._next = now + FLUSH_INTERVAL_MS / 1000
        self._retry = now
        self._snapshots: list[IndexSnapshot] = []
        self._step = 0
        self._tickets: set[int] = set()
        self._mark = flushed
        self.flushed = flushed

    @property
    def is_under_way(self) -> bool:
        return bool(self._snapshots)

    @property
    def is_syncing(self) -> bool:
        return bool(self._tickets)

    def deadline(self) -> float:
        """The time at which the next flush begins; never while one is under way, for its next step
        follows a completion."""
        return NEVER if self._snapshots else self._next

    def turn(self, now: float, dispatched: LogPosition, log_flushed: int) -> None:
        """Begin a flush, or do the next step of one. `log_flushed` is the flush position of the
        log."""
        self._index.write_entries()
        if self._snapshots:
            is_next = not self._tickets and self._go_on(log_flushed)
        elif now >= self._next or (now >= self._retry and self._is_far_behind(dispatched)):
            self._next = now + FLUSH_INTERVAL_MS / 1000
            self._retry = now + RETRY_SECONDS
            is_next = self._begin(dispatched)
        else:
            return
        if is_next:
            for snapshot in self._snapshots:
                file = self._index.file(snapshot.file.path)
                self._tickets.add(self._background.sync(file))

    def take(self, completion: Completion) -> bool:
        """Whether this completion belongs to a flush."""
        if completion.ticket not in self._tickets:
            return False
        self._tickets.discard(completion.ticket)
        if completion.error is not None:
            self._index.stop(completion.error)
            self._snapshots = []
        return True

    def restart(self, begin: LogPosition) -> None:
        """Continue at `begin`, where a log without records begins now. No sync may be under way."""
        assert not self._tickets
        self._give_up()
        self.flushed = self._mark = begin

    def flush(self, dispatched: LogPosition) -> None:
        """Do a whole flush, waiting for the disk. For a stop; the log must be synced already."""
        self._give_up()
        self._tickets.clear()
        is_next = self._begin(dispatched)
        while is_next:
            try:
                for snapshot in self._snapshots:
                    self._index.file(snapshot.file.path).sync()
            except DiskError as error:
                self._index.stop(error)
                self._snapshots = []
                return
            is_next = self._go_on(dispatched.position)

    def _is_far_behind(self, dispatched: LogPosition) -> bool:
        return dispatched.position - self.flushed.position > BEHIND_BYTES

    def _begin(self, dispatched: LogPosition) -> bool:
        """Write the entries; whether to sync them now."""
        index = self._index
        files = index.unsafe()
        if index.missed:
            dispatched = self.flushed  # the next start enters the keys that were dropped
        if index.is_broken or not all(index.attempt(file.write_entries) for file in files):
            return False
        self._mark = dispatched
        self._snapshots = [file.snapshot() for file in files]
        self._step = 1
        if not files:
            self.flushed = dispatched
        return bool(files)

    def _go_on(self, log_flushed: int) -> bool:
        """Do the next step, now that the previous one is synced; whether to sync it now."""
        if self._step == 2 and self._snapshots[-1].end_offset >= log_flushed:
            return False
        self._step += 1
        if self._step > 3:
            for snapshot in self._snapshots:
                snapshot.confirm()
            self._snapshots = []
            self.flushed = self._mark
            return False
        for snapshot in self._snapshots:
            write = snapshot.write_slots if self._step == 2 else snapshot.write_header
            if not self._index.attempt(write):
                self._give_up()
                return False
        return True

    def _give_up(self) -> None:
        for snapshot in self._snapshots:
            snapshot.give_up()
        self._snapshots = []
