"""Reads a truncated tail like the log that it was part of: for `gantry store`.

A tail is one file, whose bytes were in several files of the log. Here it is presented as those
files; the first one begins late, and the last one ends early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Disk
from gantrymq.store.commitlog.truncated_tails import TruncatedTail
from gantrymq.store.offline.census import Census, Figures
from gantrymq.store.offline.file_row import FileRow, RowFile

READ_BYTES: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class TailSeen:
    """A truncated tail, and figures of its records."""

    tail: TruncatedTail
    figures: Figures
    is_whole: bool
    """Whether the file has exactly the bytes that were cut."""


def look_at(disk: Disk, tail: TruncatedTail, file_bytes: int) -> TailSeen:
    """Read the whole tail; `file_bytes` is the length of the log's files."""
    census = Census(disk, row_of(tail, file_bytes))
    for _ in census.run():
        pass
    return TailSeen(tail, census.total, _is_whole(disk, tail))


def row_of(tail: TruncatedTail, file_bytes: int) -> FileRow:
    """The tail as a row of the log's files."""
    files = []
    start, end = tail.start, min(tail.end, tail.start + tail.size)
    while start < end:
        past = min(start - start % file_bytes + file_bytes, end)
        files.append(RowFile(start, past - start, tail.path, start - tail.start))
        start = past
    return FileRow(file_bytes, tuple(files))


def _is_whole(disk: Disk, tail: TruncatedTail) -> bool:
    file = disk.open(tail.path)
    try:
        crc = at = 0
        while data := file.read(at, READ_BYTES):
            crc = crc32(data, crc)
            at += len(data)
    finally:
        file.close()
    return (crc, at) == (tail.crc, tail.end - tail.start)
