"""What a client was told of one send, or was given: 24 bytes, big-endian, to the end of a file.

int64  when, monotonic nanoseconds, a clock that all processes of a machine share
uint8  status: how a send ended; 0 for a delivery
uint8  the sender of the message
uint16 queue
uint32 number of the message, of those that this one sent
int64  queue offset
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple, final

LAYOUT: Final = struct.Struct(">qBBHIq")
BODY: Final = struct.Struct(">II")
"""A message's body begins with its sender and its number."""
BODY_BYTES: Final = 128


class Status(IntEnum):
    """The values are in CycleDriver.java as well."""

    SEND_OK = 0
    FLUSH_DISK_TIMEOUT = 1
    FLUSH_SLAVE_TIMEOUT = 2
    SLAVE_NOT_AVAILABLE = 3
    EXCEPTION = 9


class Record(NamedTuple):
    at_ns: int
    status: int
    sender: int
    queue: int
    number: int
    offset: int


@final
class RecordWriter:
    """Writes the records of one client. They leave the process at `flush`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def add(self, status: int, sender: int, queue: int, number: int, offset: int) -> None:
        at_ns = time.monotonic_ns()
        self._file.write(LAYOUT.pack(at_ns, status, sender, queue, number, offset))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


@final
class RecordReader:
    """Takes what has come since it was asked last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = 0

    def take(self) -> Iterator[Record]:
        if not self._path.exists():
            return iter(())
        with self._path.open("rb") as file:
            file.seek(self._taken)
            data = file.read()
        whole = len(data) - len(data) % LAYOUT.size
        self._taken += whole
        return map(Record._make, LAYOUT.iter_unpack(data[:whole]))
