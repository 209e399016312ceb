"""What was cut off the log and is kept, for a person to look at and send again.

    gantry/tails/<start>-<end>-<epoch>-<crc>

Positions in 20 digits, the epoch whose master's log took its place, the crc32 of the file in
8 digits of hex. A file has the bytes of the log from `start` to `end`, as they were there. One that
was not finished ends in .new, and means nothing.

Invariant: together they are bounded, and the oldest go first; never one of the cut that is being
made, which after a stop in its middle may have left several.
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

# Each wants somebody to look at it: a hundred are years of failovers, or a fault that repeats.
FILES_MAX: Final = 100

_NAME: Final = re.compile(
    rf"(\d{{{NAME_DIGITS}}})-(\d{{{NAME_DIGITS}}})-(\d{{1,19}})-([0-9a-f]{{8}})"
)


@final
@dataclass(frozen=True, slots=True)
class KeptTail:
    """One of them, as its name says."""

    start: int
    end: int
    epoch: int
    crc: int
    size: int
    """Of the file: another one than the name says only if it is damaged."""
    kept_ms: int

    @property
    def path(self) -> str:
        return path_of(self.start, self.end, self.epoch, self.crc)


def path_of(start: int, end: int, epoch: int, crc: int) -> str:
    """Where such a one lies."""
    return f"{TAILS}/{start:0{NAME_DIGITS}d}-{end:0{NAME_DIGITS}d}-{epoch}-{crc:08x}"


def kept_tails(disk: Disk) -> Sequence[KeptTail]:
    """All of them, the oldest first."""
    found = []
    for each in disk.list(TAILS):
        parts = _NAME.fullmatch(each.name)
        if parts is not None and not each.is_folder:
            start, end, epoch = (int(parts[group]) for group in (1, 2, 3))
            crc = int(parts[4], 16)
            found.append(KeptTail(start, end, epoch, crc, each.size, each.modified_ms))
    return sorted(found, key=lambda tail: (tail.epoch, tail.kept_ms, tail.start))


def make_room(disk: Disk, start: int, end: int, epoch: int, bytes_max: int) -> Sequence[KeptTail]:
    """Have the oldest go, so that one more is within the bounds; which did."""
    for each in disk.list(TAILS):
        if each.name.endswith(UNFINISHED):
            disk.remove(f"{TAILS}/{each.name}")
    tails = kept_tails(disk)
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
