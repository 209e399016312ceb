"""Defines the names in a store's directory, and checks folders of files of one fixed length.

    commitlog/00000000001073741824           20 digits: the position at which the file begins
    consumequeue/<topic>/<queue id>/0000...  the same, in bytes of the queue
    index/20261121013426966                  creation time, local
    config/*.json   checkpoint   abort   lock
    gantry/                                  ours; Java does not read it

Invariant of a folder of fixed-length files, as Java requires it: it contains only such files, all
of the size that the settings give, and each begins where the one before ends. A crash between
creating a file and setting its length leaves a last file of length 0: it is removed (RocketMQ 5
does that, 4.9 refuses). Everything else is refused with a text that says what to do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Entry
from gantrymq.base.errors import GantryError, LocalError

COMMIT_LOG: Final = "commitlog"
CONSUME_QUEUE: Final = "consumequeue"
INDEX: Final = "index"
CONFIG: Final = "config"
CHECKPOINT: Final = "checkpoint"
ABORT: Final = "abort"
LOCK: Final = "lock"
OWN: Final = "gantry"

NAME_DIGITS: Final = 20
POSITION_MAX: Final = (1 << 63) - 1

_NAME: Final = re.compile(r"[0-9]{20}")


class StoreRefusedError(GantryError):
    """The directory cannot be opened as it is. The text names the file and says what to do."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """The files of a folder, from `first` to `past` without a gap."""

    first: int
    past: int
    empty: str = ""
    """The path of a last file of length 0, which does not count; or ""."""
    short: str = ""
    """The path of the last file if it is too short; only if the size is known."""


def file_name(position: int) -> str:
    """The name of the file that begins at this position."""
    if not 0 <= position <= POSITION_MAX:
        raise LocalError(f"no file begins at {position}")
    return f"{position:020d}"


def parse_name(name: str) -> int | None:
    """The position at which a file of this name begins; None if it is not such a name."""
    if not _NAME.fullmatch(name) or int(name) > POSITION_MAX:
        return None
    return int(name)


def check_row(
    folder: str,
    entries: Sequence[Entry],
    file_bytes: int,
    key: str,
    *,
    is_size_known: bool = False,
) -> Row:
    """Check these entries and return their range. `key` is the setting that gives `file_bytes`.

    If the files are known to have had this size before, a last file that is too short was left by a
    crash that interrupted a cut (`segments.py`). Otherwise the setting may be wrong.
    """
    files = sorted(entries, key=lambda entry: entry.name)
    _refuse_foreign(folder, files)
    empty = ""
    if files and files[-1].size == 0:
        empty = f"{folder}/{files.pop().name}"
    short = ""
    whole = files
    if files and is_size_known and files[-1].size < file_bytes:
        short = f"{folder}/{files[-1].name}"
        whole = files[:-1]
    _refuse_lengths(folder, whole, file_bytes, key)
    if not files:
        return Row(0, 0, empty)
    first = int(files[0].name)
    if first % file_bytes:
        raise StoreRefusedError(
            f"{folder}/{files[0].name} begins at {first}, which is no multiple of {key}="
            f"{file_bytes}; set {key} to what the directory was written with"
        )
    _refuse_gaps(folder, [int(each.name) for each in files], file_bytes)
    return Row(first, int(files[-1].name) + file_bytes, empty, short)


def _refuse_foreign(folder: str, files: Sequence[Entry]) -> None:
    for each in files:
        if each.is_folder or parse_name(each.name) is None:
            what = "folder" if each.is_folder else "file"
            raise StoreRefusedError(
                f"{folder} holds a {what} {each.name!r} that is not the store's: files there are "
                f"named by the {NAME_DIGITS} digits of their position; move it out of the store"
            )


def _refuse_lengths(folder: str, files: Sequence[Entry], file_bytes: int, key: str) -> None:
    wrong = [each for each in files if each.size != file_bytes]
    if not wrong:
        return
    sizes = {each.size for each in files}
    if len(sizes) == 1 and sizes != {0}:
        todo = f"set {key}={files[0].size}"
    else:
        todo = f"restore the file, or run: gantry store repair ({len(files)} files are there)"
    raise StoreRefusedError(
        f"{folder}/{wrong[0].name} has {wrong[0].size} bytes, but {key} is {file_bytes}; {todo}"
    )


def _refuse_gaps(folder: str, starts: Sequence[int], file_bytes: int) -> None:
    for before, start in itertools.pairwise(starts):
        missing = start - before - file_bytes
        if missing:
            raise StoreRefusedError(
                f"{folder}/{file_name(before + file_bytes)} is missing: {missing} bytes between "
                f"{file_name(before)} and {file_name(start)}; restore the files, or give up what "
                "lies on one side of the gap: gantry store repair"
            )
