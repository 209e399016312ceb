"""Persists the flush positions of log, queues and index, from which the next start recovers.

After kill -9 or a failed sync the page cache may show log bytes that are not on disk, and it may
consider them clean. Recovery therefore trusts only what lies below the log's flush position
("mark"). What it keeps above is first written again and synced. Below the flush positions of queues
and index nothing needs to be dispatched again.

    gantry/marks       two slots, at 0 and at 4096
    slot               "GFM1" | crc32 of the rest, 4 | and 8 bytes each: sequence | log's mark
                       | start and store timestamp of the record that ends there
                       | queues' mark | index's mark | number of queues, of index files
                       | size of the log's files, of the queues' files
    example            47464d31 d5e02ba3 0000000000000001 0000000000000077 0000000000000000
                       0000018bcfe5687b 0000000000000077 0000000000000000 0000000000000004
                       0000000000000000 0000000040000000 00000000005b8d80

Why this is safe. Flush positions are written after the sync that makes them true, so they are true
whenever they are read, and need no sync of their own. If a crash loses or tears a slot, the other
slot has older flush positions, and those only make recovery repeat more work. The highest sequence
with a correct CRC counts. A slot that is synced is therefore left alone until the other one is
synced too. That other slot is overwritten again and again, but not during its sync. What a start
reads may be in the page cache only, so it is written again and synced before anything else.

Only flush positions that are lowered, because something is about to be cut, must be synced before
the cut: `settle` does that. If the log does not have the record that the flush positions name,
another program has written the log since, and the flush positions are void.

Flush positions are written when they have moved and a second or 16 MiB have passed, and synced in
the background every ten seconds. So what a power cut makes recovery write again stays within a few
seconds of writes. Until a sync, a power cut may bring back the flush positions in `synced`: what
they describe must not be deleted.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store.files import atomic_file
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/marks"
MAGIC: Final = b"GFM1"
_BODY: Final = struct.Struct(">10q")
_CRC: Final = struct.Struct(">I")
SLOT_BYTES: Final = len(MAGIC) + _CRC.size + _BODY.size
SLOT_POSITIONS: Final = (0, 4096)
FILE_BYTES: Final = 4096 + SLOT_BYTES

INTERVAL_SECONDS: Final = 1.0
INTERVAL_BYTES: Final = 16 << 20
SYNC_SECONDS: Final = 10.0


class LogPosition(NamedTuple):
    """The end of the log and its last record. If `record_start` and the time are 0, there is no
    record, and the log begins at `position`."""

    position: int = 0
    record_start: int = 0
    store_timestamp_ms: int = 0


@final
@dataclass(frozen=True, slots=True)
class FlushPositions:
    """What is on disk: the log below `log`, the units of all records below `queues`, the keys of
    all records below `index`, and the numbers of queues and index files. `queues` and `index` are
    never above `log`."""

    log: LogPosition
    queues: int = 0
    index: int = 0
    queue_count: int = 0
    index_files: int = 0


VOID: Final = FlushPositions(LogPosition(-1, -1, -1))
"""No log has such a record, so these flush positions are never valid."""


@final
@dataclass(frozen=True, slots=True)
class Slot:
    """The content of one slot of the file."""

    sequence: int
    positions: FlushPositions
    file_bytes: int
    queue_file_bytes: int


def encode_slot(slot: Slot) -> bytes:
    positions, log = slot.positions, slot.positions.log
    body = _BODY.pack(
        slot.sequence,
        log.position,
        log.record_start,
        log.store_timestamp_ms,
        positions.queues,
        positions.index,
        positions.queue_count,
        positions.index_files,
        slot.file_bytes,
        slot.queue_file_bytes,
    )
    return MAGIC + _CRC.pack(zlib.crc32(body)) + body


def decode_slot(data: bytes) -> Slot | None:
    """None if the slot was never written, or is torn."""
    body = data[8:]
    if len(data) != SLOT_BYTES or data[:8] != MAGIC + _CRC.pack(zlib.crc32(body)):
        return None
    numbers = _BODY.unpack(body)
    positions = FlushPositions(LogPosition(*numbers[1:4]), *numbers[4:8])
    return Slot(numbers[0], positions, numbers[8], numbers[9])


def log_position(disk: Disk) -> int:
    """The log's flush position that the previous process left; 0 if there is none. For callers that
    need it before the store is opened and changes it."""
    data = atomic_file.content(disk, PATH, FILE_BYTES) or b""
    slots = [decode_slot(data[at : at + SLOT_BYTES]) for at in SLOT_POSITIONS]
    found = [slot for slot in slots if slot is not None]
    last = max(found, key=lambda slot: slot.sequence, default=None)
    return 0 if last is None else last.positions.log.position


@final
class FlushPositionsFile:
    """The file of the flush positions: read at the start, and written as the store is flushed."""

    __slots__ = (
        "_background",
        "_file",
        "_next_sync",
        "_next_write",
        "_sequence",
        "_sizes",
        "_sync_ticket",
        "_synced_slot",
        "_syncing",
        "are_sizes_known",
        "latest",
        "synced",
    )

    def __init__(
        self, disk: Disk, background: Background, file_bytes: int, queue_file_bytes: int
    ) -> None:
        """The sizes are those of the settings. `are_sizes_known` says whether the files had them
        before."""
        self._background = background
        self._sizes = (file_bytes, queue_file_bytes)
        self._file = _open(disk)
        self._next_sync = 0.0
        self._next_write = 0.0
        self._synced_slot = 0
        self._sync_ticket = 0
        self._syncing: FlushPositions | None = None
        self._sequence = 0
        self.latest: FlushPositions | None = None
        self.synced: FlushPositions | None = None
        """The flush positions that are synced: a power cut may bring these back."""
        self.are_sizes_known = False
        for number, at in enumerate(SLOT_POSITIONS):
            slot = decode_slot(self._file.read(at, SLOT_BYTES))
            if slot is not None and slot.sequence > self._sequence:
                self._sequence, self.latest, self._synced_slot = (
                    slot.sequence,
                    slot.positions,
                    number,
                )
                self.are_sizes_known = (slot.file_bytes, slot.queue_file_bytes) == self._sizes

    def advance(self, positions: FlushPositions, now: float) -> DiskError | None:
        """Write these flush positions, at intervals. Everything below them must be on disk.

        A failure only needs to be logged: the previous flush positions are still true.
        """
        if self._sync_ticket:
            return None
        try:
            if self._is_due(positions, now):
                self._next_write = now + INTERVAL_SECONDS
                self._write(positions)
            if self.latest != self.synced and now >= self._next_sync:
                self._next_sync = now + SYNC_SECONDS
                self._sync_ticket = self._background.sync(self._file)
                self._syncing = self.latest
        except DiskError as error:
            return error
        return None

    def _is_due(self, positions: FlushPositions, now: float) -> bool:
        written = self.latest.log.position if self.latest else 0
        if positions == self.latest or positions.log.position < written:
            return False
        return now >= self._next_write or positions.log.position - written >= INTERVAL_BYTES

    def settle(self, positions: FlushPositions) -> None:
        """Write and sync these flush positions: before a cut, after recovery, at a clean stop.

        No sync may be under way.
        """
        assert not self._sync_ticket
        if self.synced is None and self.latest is not None:
            self._confirm()
        self._write(positions)
        self._sync()
        self._note_synced(positions)

    def _confirm(self) -> None:
        """Write the slot that was found again, and sync it."""
        at = SLOT_POSITIONS[self._synced_slot]
        self._file.write(at, [self._file.read(at, SLOT_BYTES)])
        self._sync()

    def _sync(self) -> None:
        try:
            self._file.sync()
        except DiskError as error:
            raise SyncFailedError(error) from error

    def _note_synced(self, positions: FlushPositions | None) -> None:
        """Note that the slot written last is synced, and must be left alone."""
        self.synced = positions
        self._synced_slot = 1 - self._synced_slot

    @property
    def is_syncing(self) -> bool:
        """Whether a sync is under way."""
        return self._sync_ticket != 0

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for the flush positions. Flush positions that could not be
        synced do no harm."""
        if completion.ticket != self._sync_ticket:
            return False
        self._sync_ticket = 0
        if completion.error is None:
            self._note_synced(self._syncing)
        else:
            self._next_sync = NEVER  # a later sync that succeeds proves nothing
        return True

    def close(self) -> None:
        self._file.close()

    def _write(self, positions: FlushPositions) -> None:
        sequence = self._sequence + 1
        data = encode_slot(Slot(sequence, positions, *self._sizes))
        try:
            self._file.write(SLOT_POSITIONS[1 - self._synced_slot], [data])
        except DiskError:
            self.latest = self.synced  # this slot had the unsynced ones
            raise
        self._sequence = sequence
        self.latest = positions


def _open(disk: Disk) -> File:
    """Open the file, with its space reserved so that a full disk cannot stop later writes."""
    try:
        file = disk.open(PATH)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        disk.make_folder(OWN)
        file = disk.create(PATH)
        disk.sync_folder(OWN)
        disk.sync_folder("")
    if file.size() < FILE_BYTES:
        file.allocate(0, FILE_BYTES)
    return file
