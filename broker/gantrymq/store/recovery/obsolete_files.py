"""Deletes files of queues and index whose records the log no longer has.

A pass begins when the log's start has moved since the last pass. It checks every open queue, some
of them each turn, and then the index. Closed queues are left to a later pass, because opening them
costs more than their files do.

Invariant: files are removed one at a time, and the folder is synced before the next one. So a crash
leaves no gap in a queue, and a file that cannot be removed is retried before any other. While a
file is being removed, no queue begins anew in its folder (`DeletedQueues.removing`).
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Completion, DiskError, DiskFailure
from gantrymq.base.errors import CorruptionError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.index.index import Index

# A queue with several files needs one unit to be read: at most a few milliseconds in total.
LOOKED_A_TURN: Final = 64

# A disk that refuses to remove a file needs an operator.
RETRY_SECONDS: Final = 10.0

Failure: TypeAlias = DiskError | CorruptionError


@final
class ObsoleteFileCleaner:
    """The deletion of obsolete files of one store."""

    __slots__ = (
        "_background",
        "_index",
        "_is_index_left",
        "_is_refused",
        "_left",
        "_minimum",
        "_next",
        "_queues",
        "_ticket",
        "failure",
        "pause_seconds",
        "removing",
    )

    def __init__(
        self, background: Background, queues: Queues, index: Index, pause_seconds: float
    ) -> None:
        self._background = background
        self._queues = queues
        self._index = index
        self.pause_seconds = pause_seconds
        """The pause between two files."""
        self._minimum = 0
        self._left: list[ConsumeQueue] = []
        self._is_index_left = False
        self._is_refused = False
        self._next = float("-inf")
        self._ticket = 0
        self.removing = ""
        """The path that is being removed or must be removed next, or ""."""
        self.failure: Failure | None = None
        """The last error of this pass, or None."""

    @property
    def is_under_way(self) -> bool:
        return bool(self._left or self._is_index_left or self.removing)

    def begin(self, log_minimum: int) -> None:
        """Begin a pass, unless one is under way or the log's start has not moved."""
        if self.is_under_way or log_minimum == self._minimum:
            return
        self._minimum = log_minimum
        self._left = list(self._queues.opened())
        self._is_index_left = True
        self.failure = None

    def turn(self, now: float) -> None:
        """Remove a file, or look for one."""
        if self._is_refused:
            self._is_refused = False
            self._next = now + RETRY_SECONDS
        if self._ticket or now < self._next:
            return
        if self._left and not self._is_current(self._left[-1]):
            self._left.pop()
            self.removing = ""  # it is removed with its topic
        if not self.removing:
            self.removing = self._find()
        if self.removing:
            self._ticket = self._background.remove(self.removing)
            self._queues.deleted.removing = self.removing
            self._next = now + self.pause_seconds

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for a removal; SyncFailedError if syncing the folder failed."""
        if completion.ticket != self._ticket:
            return False
        self._ticket = 0
        self._queues.deleted.removing = ""
        error = completion.error
        if error is None or error.failure is DiskFailure.NOT_FOUND:
            self.removing = ""
        elif error.operation == "sync_folder":
            raise SyncFailedError(error)
        else:
            self.failure = error
            self._is_refused = True
            if self._left and self._is_current(self._left[-1]):
                self._left[-1].keep_file()
                self.removing = ""  # `_find` returns it again
        return True

    def deadline(self) -> float:
        """The time at which `turn` has work, if neither a completion nor a pass comes."""
        return self._next if self.is_under_way and not self._ticket else NEVER

    def _find(self) -> str:
        """The path of the next file to remove; "" if the queues checked in this turn have none."""
        for _ in range(LOOKED_A_TURN):
            if not self._left:
                break
            path = self._expired_file(self._left[-1])
            if path:
                return path  # the queue stays first: it may have another one
            self._left.pop()
        if self._left or not self._is_index_left:
            return ""
        path = self._index.expired_file(self._minimum)
        self._is_index_left = bool(path)
        return path

    def _expired_file(self, queue: ConsumeQueue) -> str:
        if not self._is_current(queue):
            return ""
        try:
            queue.correct_minimum(self._minimum)
            return self._queues.expired_file(queue)
        except (DiskError, CorruptionError) as error:
            self.failure = error
            return ""

    def _is_current(self, queue: ConsumeQueue) -> bool:
        """Whether the queue still exists. After its topic is deleted, a new queue has its own
        files."""
        return self._queues.find(queue.topic, queue.queue_id) is queue
