"""Keeps copies of the table of producer sessions, so that a start needs to read little of the log.

    gantry/sessions.0, gantry/sessions.1   written in turns; the newest valid one is used
    a file      "GFP1" | crc32 of the rest 4 | position 8 | number of sessions 4 | sessions
    a session   bytes of its id 1 | the id | epoch 8 | last number 8 | position 8 | store time ms 8

A copy reflects the log below `position`. It is first made in memory, and written when that part of
the log is on disk and cannot be truncated any more (`safe`). So after a crash or a truncation a
copy hardly ever reflects more than the log has. Such a copy is void: recall.py removes it, and
syncs that, before the log grows beyond its position again.

Invariant: once `open` has returned, a copy is on disk, or no session is served.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import OWN
from gantrymq.store.sessions.table import ProducerSessions, SessionState

PATHS: Final = (f"{OWN}/sessions.0", f"{OWN}/sessions.1")
MAGIC: Final = b"GFP1"

# Bounds what a start reads of the log, besides what queues and index need.
INTERVAL_SECONDS: Final = 60.0
INTERVAL_BYTES: Final = 256 << 20

# Enough for a million sessions; the store never writes a longer file.
FILE_BYTES_MAX: Final = 512 << 20

_CRC: Final = struct.Struct(">I")
_HEAD: Final = struct.Struct(">qI")
_STATE: Final = struct.Struct(">qqqq")


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The table that the log below `position` gives."""

    position: int
    states: Sequence[SessionState]

    def is_of(self, log_end: int) -> bool:
        """Whether a log that ends there has everything that this copy reflects."""
        return self.position <= log_end and all(each.position < log_end for each in self.states)


def encode(snapshot: Snapshot) -> bytes:
    pieces = [_HEAD.pack(snapshot.position, len(snapshot.states))]
    for state in snapshot.states:
        pieces += [bytes((len(state.session_id),)), state.session_id, _STATE.pack(*state[1:])]
    body = b"".join(pieces)
    return MAGIC + _CRC.pack(crc32(body)) + body


def decode(data: bytes) -> Snapshot | None:
    """Decode a copy; None if it is damaged."""
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
    """The content of each existing file; None for one that is damaged."""
    contents = {path: atomic_file.content(disk, path, FILE_BYTES_MAX) for path in PATHS}
    return {path: decode(data) for path, data in contents.items() if data is not None}


def remove(disk: Disk, paths: Sequence[str] = PATHS) -> None:
    """Remove these copies, and sync that."""
    gone = [path for path in paths if atomic_file.remove(disk, path)]
    if gone:
        disk.sync_folder(OWN)


@final
class SnapshotWriter:
    """Writes copies at intervals; the store owns it, and `FlushCoordinator` saves a last copy."""

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
        """The position of the copy that was written last; -1 if there is none."""
        self.is_ready: bool = False
        """Whether a copy is on disk, so that sessions survive a crash."""

    def save(self, position: int, *, is_start: bool) -> None:
        """Write a copy of the whole log's state, waiting for the disk. The log must be on disk.

        Only a start may go on without a copy; sessions are then not served before one is written.
        """
        try:
            atomic_file.replace(self._disk, PATHS[self._slot], self._encoded(position))
        except DiskError:
            if not is_start:
                raise
            return
        self._wrote(position)

    def is_due(self, now: float, dispatched: int) -> bool:
        """Whether `turn` may have work."""
        if self._ticket or dispatched == self._written:
            return False
        if self._pending is not None or now >= self._next:
            return True
        return dispatched - self._written >= INTERVAL_BYTES

    def turn(self, now: float, dispatched: int, safe: int) -> None:
        """Make a copy, or write the one that was made, once `safe` has passed its position."""
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
            self._drop_file()  # the other file is still valid, and the next copy will be tried

    def begin_anew(self) -> None:
        """Clear the table and remove the copies, because the log begins anew. DiskError if a copy
        cannot be removed."""
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
        """Whether the completion is for a copy."""
        if completion.ticket != self._ticket:
            return False
        self._ticket = 0
        self._drop_file()
        if completion.error is None:
            self._wrote(self._written)
        return True

    def close(self) -> None:
        """Close the file."""
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
            atomic_file.replace(self._disk, path, data)  # only for a store's first copies
            self._wrote(position)
            return
        self._file.resize(0)
        self._file.write(0, [data])
        self._written = position
        self._ticket = self._background.sync(self._file)

    def _wrote(self, position: int) -> None:
        """Note that the copy is on disk; the next one goes to the other file."""
        self._written = position
        self._slot = 1 - self._slot
        self.is_ready = True

    def _drop_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
