"""Lists the files of a folder of fixed-length files as they are, for offline tools.

`layout.check_row` refuses a folder with gaps or wrong sizes. Here such faults become findings, and
the remaining files can be read. Invariant: `files` are in order, none begins before the previous
one ends, and each begins at a multiple of the length. Only the first one of a truncated tail need
not (tail_reading.py).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.base.disk import Disk, Entry
from gantrymq.store.layout import NAME_DIGITS, parse_name
from gantrymq.store.offline.finding import Findings, Kind


@final
@dataclass(frozen=True, slots=True)
class RowFile:
    """One file: the position at which it begins, and its actual size."""

    start: int
    size: int
    path: str
    at: int = 0
    """The offset in the file at `path` where it begins; only in a truncated tail it is not 0."""


@final
@dataclass(frozen=True, slots=True)
class FileRow:
    """The usable files, and the paths of entries that do not belong into the folder."""

    file_bytes: int
    files: tuple[RowFile, ...]
    foreign: tuple[str, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    """The starts and ends of the ranges of positions whose files are missing."""

    @property
    def first(self) -> int:
        return self.files[0].start if self.files else 0

    @property
    def past(self) -> int:
        return self.files[-1].start + self.file_bytes if self.files else 0


def usual_size(entries: Sequence[Entry]) -> int:
    """The most frequent length that also fits the names of all files; 0 if there is no file."""
    files = [each for each in entries if each.size and parse_name(each.name) is not None]
    starts = [int(each.name) for each in files]
    counts = Counter(each.size for each in files)
    fitting = [size for size in counts if all(start % size == 0 for start in starts)]
    return max(fitting or counts, key=lambda size: (counts[size], size), default=0)


def read_row(
    disk: Disk, folder: str, file_bytes: int, findings: Findings, kind: Kind = Kind.LENGTH
) -> FileRow:
    """List the folder. Wrong lengths and gaps become findings of this `kind`."""
    files: list[RowFile] = []
    foreign: list[str] = []
    entries = disk.list(folder)
    for entry in entries:
        path = f"{folder}/{entry.name}"
        start = parse_name(entry.name)
        if start is None or entry.is_folder or start % file_bytes:
            foreign.append(path)
            findings.error(Kind.FOREIGN, path, _why_foreign(entry, start, file_bytes))
        elif entry.size == 0 and entry is entries[-1]:
            foreign.append(path)
            text = "the last file is empty, because of a crash; RocketMQ 4.9 refuses to load it"
            findings.warn(kind, path, text)
        else:
            files.append(RowFile(start, entry.size, path))
    for file in files:
        _judge_length(file, file_bytes, findings, kind, is_last=file is files[-1])
    gaps = [
        (before.start + file_bytes, file.start)
        for before, file in itertools.pairwise(files)
        if before.start + file_bytes != file.start
    ]
    for begin, end in gaps:
        text = f"{end - begin} bytes are missing: the files from {begin} up to {end}"
        findings.error(Kind.FILE_MISSING if kind is Kind.LENGTH else kind, folder, text, begin)
    return FileRow(file_bytes, tuple(files), tuple(foreign), tuple(gaps))


def _why_foreign(entry: Entry, start: int | None, file_bytes: int) -> str:
    if entry.is_folder:
        return "a folder does not belong here: move it away"
    if start is None:
        return f"only files named by {NAME_DIGITS} digits belong here: move it away"
    return f"begins at {start}, which is no multiple of the files' length {file_bytes}"


def _judge_length(
    file: RowFile, file_bytes: int, findings: Findings, kind: Kind, *, is_last: bool
) -> None:
    if file.size == file_bytes:
        return
    text = f"has {file.size} bytes, the others {file_bytes}"
    if is_last and file.size < file_bytes:
        findings.warn(
            kind, file.path, f"{text}: the file was shortened; RocketMQ refuses to load it"
        )
    else:
        findings.error(kind, file.path, text)
