"""Keeps copies of the table of producer sessions beside the log: a start reads little of the log.

    gantry/sessions.0, gantry/sessions.1   written in turns; the newest that counts is used
    a file      "GFP1" | crc32 of the rest 4 | position 8 | number of sessions 4 | sessions
    a session   bytes of its id 1 | the id | epoch 8 | last number 8 | position 8 | store time ms 8

A copy says what the log below `position` tells. It is made in memory first and written when that
part of the log is on disk and cannot be taken back (`safe`), so that a crash or a cut of the log
hardly ever leaves a copy that knows more than the log. One that does is void: recall.py removes it,
for good, before the log grows beyond its position again.

Invariant: once `open` has returned, a copy is on disk for good, or no session is served.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store import own_file
from gantrymq.store.layout import OWN
from gantrymq.store.sessions.table import ProducerSessions, SessionState

PATHS: Final = (f"{OWN}/sessions.0", f"{OWN}/sessions.1")
MAGIC: Final = b"GFP1"

# What a start reads of the log at most, besides what queues and index need.
INTERVAL_SECONDS: Final = 60.0
INTERVAL_BYTES: Final = 256 << 20

# A million sessions; a longer file was not written by us.
FILE_BYTES_MAX: Final = 512 << 20

_CRC: Final = struct.Struct(">I")
_HEAD: Final = struct.Struct(">qI")
_STATE: Final = struct.Struct(">qqqq")


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The table as the log below `position` tells it."""

    position: int
    states: Sequence[SessionState]

    def is_of(self, log_end: int) -> bool:
        """Whether it knows nothing that a log which ends there lacks."""
        return self.position <= log_end and all(each.position < log_end for each in self.states)


def encode(snapshot: Snapshot) -> bytes:
    pieces = [_HEAD.pack(snapshot.position, len(snapshot.states))]
    for state in snapshot.states:
        pieces += [bytes((len(state.session_id),)), state.session_id, _STATE.pack(*state[1:])]
    body = b"".join(pieces)
    return MAGIC + _CRC.pack(crc32(body)) + body


def decode(data: bytes) -> Snapshot | None:
    """None when it was not written whole."""
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(crc32(body)):
        return None
    position, count = _HEAD.unpack_from(body)
    at, states = _HEAD.size, []
    for _ in range(count):
        id_at, id_end = at + 1, at + 1 + body[at]
        states.append(SessionState(body[id_at:id_end], *_STATE.unpack_from(body, id_end)))
        at = id_end + _STATE.size
    return Snapshot(position, states)


def load(disk: Disk) -> dict[str, Snapshot | None]:
    """What each of the files that exist holds, None where that is damaged."""
    contents = {path: own_file.content(disk, path, FILE_BYTES_MAX) for path in PATHS}
    return {path: decode(data) for path, data in contents.items() if data is not None}


def remove(disk: Disk, paths: Sequence[str] = PATHS) -> None:
    """These copies are no more, for good."""
    gone = [path for path in paths if own_file.remove(disk, path)]
    if gone:
        disk.sync_folder(OWN)


@final
class SnapshotWriter:
    """Writes copies now and then; the store's persistence owns it."""

    __slots__ = (
        "_background",
        "_disk",
        "_file",
        "_next",
        "_pending",
        "_sessions",
        "_slot",
        "_ticket",
        "_written",
        "is_ready",
    )

    def __init__(self, disk: Disk, background: Background, sessions: ProducerSessions) -> None:
        self._background: Background = background
        self._disk: Disk = disk
        self._file: File | None = None
        self._next: float = 0.0
        self._pending: tuple[int, bytes] | None = None
        self._sessions: ProducerSessions = sessions
        self._slot: int = 0
        self._ticket: int = 0
        self._written: int = -1
        """The position of the copy that was written last."""
        self.is_ready: bool = False
        """Whether a copy is on disk, so that sessions survive a crash."""

    def save(self, position: int, *, is_start: bool) -> None:
        """Write a copy that tells all of the log, which is on disk, waiting for the disk.

        Only a start may go without one, and then does not serve sessions before one is written.
        """
        try:
            own_file.replace(self._disk, PATHS[self._slot], self._encoded(position))
        except DiskError:
            if not is_start:
                raise
            return
        self._wrote(position)

    def is_due(self, now: float, dispatched: int) -> bool:
        """Whether `turn` may have something to do."""
        if self._ticket or dispatched == self._written:
            return False
        if self._pending is not None or now >= self._next:
            return True
        return dispatched - self._written >= INTERVAL_BYTES

    def turn(self, now: float, dispatched: int, safe: int) -> None:
        """Make a copy, or write the one that was made, once the log is `safe` up to there."""
        if self._pending is None:
            self._next = now + INTERVAL_SECONDS
            self._pending = (dispatched, self._encoded(dispatched))
        position, data = self._pending
        if position > safe:
            return
        self._pending = None
        try:
            self._write(position, data)
        except DiskError:
            self._drop_file()  # the other file still counts, and there is a next time

    def begin_anew(self) -> None:
        """The log begins anew, and so does the table: no copy is of it. DiskError where one could
        not be removed."""
        self._sessions.clear()
        self._pending = None
        remove(self._disk)
        self._written, self.is_ready = -1, False
        self._next = 0.0

    @property
    def is_syncing(self) -> bool:
        """Whether a sync is under way."""
        return self._ticket != 0

    def take(self, completion: Completion) -> bool:
        """Whether the completion was ours."""
        if completion.ticket != self._ticket:
            return False
        self._ticket = 0
        self._drop_file()
        if completion.error is None:
            self._wrote(self._written)
        return True

    def close(self) -> None:
        """Give the handle back."""
        self._drop_file()

    def _encoded(self, position: int) -> bytes:
        return encode(Snapshot(position, list(self._sessions.all())))

    def _write(self, position: int, data: bytes) -> None:
        path = PATHS[self._slot]
        try:
            self._file = self._disk.open(path)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise
            own_file.replace(self._disk, path, data)  # once in the life of a store
            self._wrote(position)
            return
        self._file.resize(0)
        self._file.write(0, [data])
        self._written = position
        self._ticket = self._background.sync(self._file)

    def _wrote(self, position: int) -> None:
        """The file of this turn is on disk; the next copy goes to the other one."""
        self._written = position
        self._slot = 1 - self._slot
        self.is_ready = True

    def _drop_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
