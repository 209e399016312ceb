"""Stores the epochs of the log of this directory, fsynced before the first record of each.

    gantry/epochs   "GFE1" | crc32 of the rest 4 | epochs
    epoch           8 bytes each: number | start position in the log

A member that has lost this file finds no common position with any other log, and copies the whole
log again.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from gantrymq.base.disk import Disk
from gantrymq.ha.disk.epochs import Epoch, Epochs
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import OWN, StoreRefusedError

PATH: Final = f"{OWN}/epochs"
MAGIC: Final = b"GFE1"

# Enough for a group that elects a master each minute for a year and keeps all of its log.
EPOCHS_MAX: Final = 1 << 19

_CRC: Final = struct.Struct(">I")
_EPOCH: Final = struct.Struct(">2q")
FILE_BYTES_MAX: Final = len(MAGIC) + _CRC.size + EPOCHS_MAX * _EPOCH.size


def encode(epochs: Epochs) -> bytes:
    body = b"".join(_EPOCH.pack(each.number, each.start) for each in epochs[-EPOCHS_MAX:])
    return MAGIC + _CRC.pack(zlib.crc32(body)) + body


def decode(data: bytes) -> Epochs:
    """Raises StoreRefusedError if the bytes are damaged."""
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(zlib.crc32(body)) or len(body) % _EPOCH.size:
        raise StoreRefusedError(
            f"{PATH} is damaged: it records which master wrote which part of the log. Restore it"
            " from a copy, or remove it, and this member copies the master's log again."
        )
    return tuple(Epoch(number, start) for number, start in _EPOCH.iter_unpack(body))


def read(disk: Disk) -> Epochs:
    """The epochs in the file; empty if there is no file."""
    data = atomic_file.content(disk, PATH, FILE_BYTES_MAX)
    return () if data is None else decode(data)


def write(disk: Disk, epochs: Epochs) -> None:
    """Write the file and fsync it before returning."""
    atomic_file.replace(disk, PATH, encode(epochs))
