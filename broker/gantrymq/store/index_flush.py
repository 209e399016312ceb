"""What of the index is safe on disk: a flush in three steps, each synced before the next.

    1 the entries        2 the slots that name them        3 the header that counts them

`flushed_ms`, the store time of the newest entry a flush made safe, is what the checkpoint keeps as
indexMsgTimestamp. Keys entered while a flush is under way belong to the next one.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Background, Completion, DiskError
from gantrymq.store.index import Index
from gantrymq.store.index_file import IndexSnapshot

# A busy index has entries in every page of its slots: a flush writes up to 20 MB.
FLUSH_INTERVAL_MS: Final = 60_000


@final
class IndexFlush:
    """The flushes of one index."""

    __slots__ = ("_background", "_index", "_next", "_snapshots", "_step", "_tickets", "flushed_ms")

    def __init__(self, index: Index, background: Background, now: float) -> None:
        self._index = index
        self._background = background
        self._next = now + FLUSH_INTERVAL_MS / 1000
        self._snapshots: list[IndexSnapshot] = []
        self._step = 0
        self._tickets: set[int] = set()
        self.flushed_ms = 0

    @property
    def is_under_way(self) -> bool:
        return bool(self._snapshots)

    def deadline(self) -> float:
        return self._next

    def turn(self, now: float) -> None:
        """Once a turn, after its entries."""
        self._index.write_entries()
        if now >= self._next and not self.is_under_way:
            self._next = now + FLUSH_INTERVAL_MS / 1000
            self._begin()
            self._sync()

    def take(self, completion: Completion) -> bool:
        """Whether this ticket was one of ours."""
        if completion.ticket not in self._tickets:
            return False
        self._tickets.discard(completion.ticket)
        if completion.error is not None:
            self._index.stop(completion.error)
            self._snapshots = []
        elif not self._tickets:
            self._go_on()
            self._sync()
        return True

    def flush(self) -> None:
        """The whole of a flush, waiting for the disk: for a stop, when none is under way."""
        self._begin()
        while self._snapshots:
            try:
                for snapshot in self._snapshots:
                    self._index.file(snapshot.file.path).sync()
            except DiskError as error:
                self._index.stop(error)
                self._snapshots = []
            else:
                self._go_on()

    def _begin(self) -> None:
        """Write the entries; nothing is under way when the disk refuses."""
        files = [] if self._index.is_broken else self._index.unsafe()
        if all(self._index.attempt(file.write_entries) for file in files):
            self._snapshots = [file.snapshot() for file in files]
            self._step = 1

    def _go_on(self) -> None:
        """What the step before wrote is on disk: the next step, or the end."""
        self._step += 1
        for snapshot in self._snapshots:
            if self._step > 3:
                snapshot.confirm()
                self.flushed_ms = max(self.flushed_ms, snapshot.end_ms)
            else:
                write = snapshot.write_slots if self._step == 2 else snapshot.write_header
                if not self._index.attempt(write):
                    self._give_up()
                    return
        if self._step > 3:
            self._snapshots = []

    def _give_up(self) -> None:
        for snapshot in self._snapshots:
            snapshot.give_up()
        self._snapshots = []

    def _sync(self) -> None:
        for snapshot in self._snapshots:
            file = self._index.file(snapshot.file.path)
            self._tickets.add(self._background.sync(file))
