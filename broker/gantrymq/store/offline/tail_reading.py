"""A kept tail, read like the log that it was: for `gantry store`.

It lies in one file, and was in several of the log's; here it is a row of such files again, of which
the first begins late and the last ends early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Disk
from gantrymq.store.kept_tails import KeptTail
from gantrymq.store.offline.census import Census, Figures
from gantrymq.store.offline.file_row import FileRow, RowFile

READ_BYTES: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class TailSeen:
    """A tail, and what is in it."""

    tail: KeptTail
    figures: Figures
    is_whole: bool
    """Its bytes are those that were cut."""


def look_at(disk: Disk, tail: KeptTail, file_bytes: int) -> TailSeen:
    """Read all of it; `file_bytes` is the length of the log's files."""
    census = Census(disk, row_of(tail, file_bytes))
    for _ in census.run():
        pass
    return TailSeen(tail, census.total, _is_whole(disk, tail))


def row_of(tail: KeptTail, file_bytes: int) -> FileRow:
    """The files of the log that it was part of, as far as they are in it."""
    files = []
    start, end = tail.start, min(tail.end, tail.start + tail.size)
    while start < end:
        past = min(start - start % file_bytes + file_bytes, end)
        files.append(RowFile(start, past - start, tail.path, start - tail.start))
        start = past
    return FileRow(file_bytes, tuple(files))


def _is_whole(disk: Disk, tail: KeptTail) -> bool:
    file = disk.open(tail.path)
    try:
        crc = at = 0
        while data := file.read(at, READ_BYTES):
            crc = crc32(data, crc)
            at += len(data)
    finally:
        file.close()
    return (crc, at) == (tail.crc, tail.end - tail.start)
