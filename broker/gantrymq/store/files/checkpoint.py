"""Keeps Java's checkpoint file: store times up to which everything is on disk, for recovery.

A file of 4096 bytes, the rest of it zeros:

    bytes  0-7   int64  physicMsgTimestamp    the last flushed record of the log, ms
           8-15  int64  logicsMsgTimestamp    up to it the queues are flushed
          16-23  int64  indexMsgTimestamp     up to it the index is flushed
          24-31  int64  masterFlushedOffset   RocketMQ 5 only, kept as found
          32-39  int64  confirmPhyOffset      RocketMQ 5 only, kept as found
    at 512 and at 1024, ours: "GFC1" | crc32 of the numbers that follow | the five numbers

A missing or short file, or a number that is not a time, reads as 0: recovery then goes further
back.

The slots show which program wrote last. Java does not touch them. If no slot has the numbers in the
file's header, Java has written the store since, and guarantees that only our stores give do not
hold any more.

The numbers are overwritten in place, as Java does, and a power cut may tear that write anywhere.
Torn numbers must not look like Java's. Therefore the numbers are first written into a slot and
synced, and then written in place. The slot with the previous numbers stays until the new ones are
in place and synced. So wherever a power cut interrupts, each byte of the numbers equals that byte
in one of the slots.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store.layout import CHECKPOINT

FILE_BYTES: Final = 4096
NUMBERS: Final = struct.Struct(">5q")
MAGIC: Final = b"GFC1"
_CRC: Final = struct.Struct(">I")
SLOT_BYTES: Final = len(MAGIC) + _CRC.size + NUMBERS.size
SLOT_POSITIONS: Final = (512, 1024)

# An advance takes two steps. An old checkpoint only makes Java's recovery do more.
STEP_SECONDS: Final = 5.0

# Java's allowance for clocks that step back a little, and for records that are flushed later than
# others of the same time.
ALLOWANCE_MS: Final = 3000


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The five numbers; 0 where a value is unknown."""

    log_ms: int = 0
    queues_ms: int = 0
    index_ms: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0

    def recovery_ms(self, *, with_index: bool = False) -> int:
        """Every record stored before this time is on disk, in the log and in its queue.

        `with_index` (messageIndexSafe): also in the index.
        """
        earliest = min(self.log_ms, self.queues_ms) - ALLOWANCE_MS
        return max(0, min(earliest, self.index_ms) if with_index else earliest)


def encode(checkpoint: Checkpoint) -> bytes:
    return NUMBERS.pack(
        checkpoint.log_ms,
        checkpoint.queues_ms,
        checkpoint.index_ms,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_offset,
    )


def decode(data: bytes) -> Checkpoint:
    """Decode the numbers; an impossible one becomes 0. Never fails."""
    numbers = NUMBERS.unpack(data[: NUMBERS.size].ljust(NUMBERS.size, b"\0"))
    return Checkpoint(*[max(0, number) for number in numbers])


def encode_slot(numbers: bytes) -> bytes:
    return MAGIC + _CRC.pack(zlib.crc32(numbers)) + numbers


def decode_slot(data: bytes) -> bytes | None:
    """The numbers; None if the slot was never written, or is torn."""
    numbers = data[-NUMBERS.size :]
    return numbers if data == encode_slot(numbers) else None


def are_told(numbers: bytes, told: Sequence[bytes]) -> bool:
    """Whether each byte of these numbers equals that byte in one of the slots."""
    return all(byte in {each[at] for each in told} for at, byte in enumerate(numbers))


@final
class CheckpointFile:
    """The checkpoint file of one store. The store's `FlushCoordinator` advances it."""

    __slots__ = (
        "_background",
        "_file",
        "_is_broken",
        "_is_in_place",
        "_next_step",
        "_slot",
        "_ticket",
        "is_ours",
        "saved",
    )

    def __init__(self, disk: Disk, background: Background) -> None:
        """Open the file, and create it if it is missing."""
        self._background = background
        self._file = _open(disk)
        self._is_broken = False
        self._is_in_place = True
        self._next_step = 0.0
        self._ticket = 0
        numbers = self._file.read(0, NUMBERS.size)
        slots = [decode_slot(self._file.read(at, SLOT_BYTES)) for at in SLOT_POSITIONS]
        told = [slot for slot in slots if slot is not None]
        self.is_ours = are_told(numbers, told)
        """Whether one of our stores was the last to write the file."""
        if self.is_ours and numbers not in told:
            numbers = told[0]
        self._slot = slots.index(numbers) if numbers in told else 0
        self.saved = decode(numbers)
        """The numbers that are in the file, or in a slot and about to be written in place."""

    def settle(self) -> None:
        """Make the numbers that were found ours, and sync them. Called once, at the start."""
        numbers = encode(self.saved)
        self._file.write(SLOT_POSITIONS[self._slot], [encode_slot(numbers)])
        self._file.write(0, [numbers])
        self._file.sync()

    def advance(self, checkpoint: Checkpoint, now: float) -> None:
        """Write this checkpoint, which must be true already, in two steps and at intervals.

        DiskError if it cannot be written; the previous checkpoint is still true.
        """
        if self._ticket or self._is_broken or now < self._next_step:
            return
        self._next_step = now + STEP_SECONDS
        if self._step(checkpoint):
            self._ticket = self._background.sync(self._file)

    def save(self, checkpoint: Checkpoint) -> None:
        """Do both steps, waiting for the disk. For a stop; no sync may be under way."""
        assert not self._ticket
        while not self._is_broken and self._step(checkpoint):
            try:
                self._file.sync()
            except DiskError:
                self._is_broken = True
                raise

    def _step(self, checkpoint: Checkpoint) -> bool:
        """Do the next step, if there is one; return whether. The previous step must be synced."""
        if not self._is_in_place:
            self._file.write(0, [encode(self.saved)])
            self._is_in_place = True
        elif checkpoint != self.saved:
            slot = 1 - self._slot
            self._file.write(SLOT_POSITIONS[slot], [encode_slot(encode(checkpoint))])
            self._slot, self.saved, self._is_in_place = slot, checkpoint, False
        else:
            return False
        return True

    @property
    def is_syncing(self) -> bool:
        """Whether a sync is under way."""
        return self._ticket != 0

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for the checkpoint."""
        if completion.ticket != self._ticket:
            return False
        self._ticket = 0
        self._is_broken = completion.error is not None  # a later sync that succeeds proves nothing
        return True

    def close(self) -> None:
        self._file.close()


def _open(disk: Disk) -> File:
    """Open the file at its full length, and create it if it is missing."""
    try:
        file = disk.open(CHECKPOINT)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        file = disk.create(CHECKPOINT)
        disk.sync_folder("")
    if file.size() < FILE_BYTES:
        file.allocate(0, FILE_BYTES)  # so that a full disk cannot stop later writes
    elif file.size() > FILE_BYTES:
        file.resize(FILE_BYTES)
    return file
