"""The checkpoint: up to which store time everything is on disk, so how far recovery goes back.

A file of 4096 bytes, the rest of it zeros:

    bytes  0-7   int64  physicMsgTimestamp    the last flushed record of the log, ms
           8-15  int64  logicsMsgTimestamp    up to it the queues are flushed
          16-23  int64  indexMsgTimestamp     up to it the index is flushed
          24-31  int64  masterFlushedOffset   RocketMQ 5 only, kept as found
          32-39  int64  confirmPhyOffset      RocketMQ 5 only, kept as found
         504-511 "GFC1" | crc32 of the numbers: ours; Java leaves it alone, so that it is wrong once
                 Java has written, and what only our stores promise does not hold any more

It is overwritten in place, like Java's: the numbers lie in one sector, which devices write whole.
A missing or short file, or a number that is no time, reads as 0: recovery then goes further back.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure, File
from gantrymq.store.layout import CHECKPOINT

FILE_BYTES: Final = 4096
SECTOR_BYTES: Final = 512
MAGIC: Final = b"GFC1"
_CRC: Final = struct.Struct(">I")
SIGNATURE_BYTES: Final = len(MAGIC) + _CRC.size
NUMBERS: Final = struct.Struct(">5q")

# Clocks may step back a little, and records of one moment are flushed apart: Java's allowance.
ALLOWANCE_MS: Final = 3000


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The five numbers; 0 where nothing is known."""

    log_ms: int = 0
    queues_ms: int = 0
    index_ms: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0

    def recovery_ms(self, *, with_index: bool = False) -> int:
        """Every record stored before this time is on disk, in the log and in its queue.

        `with_index` (messageIndexSafe) goes back to where the index too misses nothing.
        """
        earliest = min(self.log_ms, self.queues_ms) - ALLOWANCE_MS
        return max(0, min(earliest, self.index_ms) if with_index else earliest)


def encode(checkpoint: Checkpoint) -> bytes:
    numbers = NUMBERS.pack(
        checkpoint.log_ms,
        checkpoint.queues_ms,
        checkpoint.index_ms,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_offset,
    )
    signed = numbers.ljust(SECTOR_BYTES - SIGNATURE_BYTES, b"\0") + _signature(numbers)
    return signed.ljust(FILE_BYTES, b"\0")


def is_ours(data: bytes) -> bool:
    """Whether one of our stores was the last to write these numbers."""
    signature = data[SECTOR_BYTES - SIGNATURE_BYTES : SECTOR_BYTES]
    return signature == _signature(data[: NUMBERS.size])


def _signature(numbers: bytes) -> bytes:
    return MAGIC + _CRC.pack(zlib.crc32(numbers))


def decode(data: bytes) -> Checkpoint:
    """Never fails: what cannot be right is 0."""
    numbers = NUMBERS.unpack(data[: NUMBERS.size].ljust(NUMBERS.size, b"\0"))
    return Checkpoint(*[max(0, number) for number in numbers])


@final
class CheckpointFile:
    """The file, written when something changed; its owner decides how often (about a second)."""

    __slots__ = ("_file", "is_ours", "saved")

    def __init__(self, file: File, saved: Checkpoint, *, is_ours: bool) -> None:
        self._file = file
        self.saved = saved
        self.is_ours = is_ours
        """Whether nobody else wrote it since one of our stores did."""

    @classmethod
    def open(cls, disk: Disk, path: str = CHECKPOINT) -> CheckpointFile:
        """The file, made when it is missing."""
        try:
            file = disk.open(path)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise
            file = disk.create(path)
            disk.sync_folder(path.rpartition("/")[0])
        data = file.read(0, SECTOR_BYTES)
        if file.size() != FILE_BYTES:
            file.resize(FILE_BYTES)
        return cls(file, decode(data), is_ours=is_ours(data))

    @property
    def file(self) -> File:
        """To ask a sync for, after `write`."""
        return self._file

    def write(self, checkpoint: Checkpoint) -> bool:
        """Write what is new; whether a sync is due. What it says must be synced before."""
        if checkpoint == self.saved and self.is_ours:
            return False
        self._file.write(0, [encode(checkpoint)])
        self.saved = checkpoint
        self.is_ours = True
        return True

    def save(self, checkpoint: Checkpoint) -> None:
        """Write and sync, waiting for the disk: for a stop."""
        if self.write(checkpoint):
            self._file.sync()

    def close(self) -> None:
        self._file.close()
