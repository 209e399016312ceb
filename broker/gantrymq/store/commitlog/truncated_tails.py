"""Keeps truncated tails of the log, so that an operator can inspect and resend their messages.

    gantry/tails/<start>-<end>-<epoch>-<crc>

Positions have 20 digits. `epoch` is the epoch of the master whose log replaced the tail, `crc` the
crc32 of the file in 8 hex digits. The file has the bytes of the log from `start` to `end`,
unchanged. An unfinished file ends in .new and has no meaning.

Invariant: number and total size are bounded. The oldest tails are deleted first, but never one of
the truncation under way, which may have left several if it was interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.layout import NAME_DIGITS, OWN

TAILS: Final = f"{OWN}/tails"
UNFINISHED: Final = ".new"

# An operator should inspect each one. A hundred are years of failovers, or a fault that repeats.
FILES_MAX: Final = 100

_NAME: Final = re.compile(
    rf"(\d{{{NAME_DIGITS}}})-(\d{{{NAME_DIGITS}}})-(\d{{1,19}})-([0-9a-f]{{8}})"
)


@final
@dataclass(frozen=True, slots=True)
class TruncatedTail:
    """One truncated tail, as its file's name describes it."""

    start: int
    end: int
    epoch: int
    crc: int
    size: int
    """The size of the file. It differs from the name's only if the file is damaged."""
    kept_ms: int

    @property
    def path(self) -> str:
        return path_of(self.start, self.end, self.epoch, self.crc)


def path_of(start: int, end: int, epoch: int, crc: int) -> str:
    """The path of a tail with these properties."""
    return f"{TAILS}/{start:0{NAME_DIGITS}d}-{end:0{NAME_DIGITS}d}-{epoch}-{crc:08x}"


def list_tails(disk: Disk) -> Sequence[TruncatedTail]:
    """All truncated tails, the oldest first."""
    found = []
    for each in disk.list(TAILS):
        parts = _NAME.fullmatch(each.name)
        if parts is not None and not each.is_folder:
            start, end, epoch = (int(parts[group]) for group in (1, 2, 3))
            crc = int(parts[4], 16)
            found.append(TruncatedTail(start, end, epoch, crc, each.size, each.modified_ms))
    return sorted(found, key=lambda tail: (tail.epoch, tail.kept_ms, tail.start))


def make_room(
    disk: Disk, start: int, end: int, epoch: int, bytes_max: int
) -> Sequence[TruncatedTail]:
    """Delete the oldest tails until one more fits into the bounds; return the deleted ones."""
    for each in disk.list(TAILS):
        if each.name.endswith(UNFINISHED):
            disk.remove(f"{TAILS}/{each.name}")
    tails = list_tails(disk)
    count, size = len(tails) + 1, sum(tail.size for tail in tails) + end - start
    gone = []
    for tail in tails:
        if count <= FILES_MAX and size <= bytes_max:
            break
        if (tail.start, tail.epoch) == (start, epoch):
            continue
        disk.remove(tail.path)
        count, size = count - 1, size - tail.size
        gone.append(tail)
    return gone
