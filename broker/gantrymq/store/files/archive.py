"""Moves a store's files into a folder beside it, so that its member starts with an empty store.

    DIR/archive-20261128T031500.123456Z/commitlog, consumequeue, index, config, gantry, ...

These files stay where they are: the lock, which the archiving process holds; the decision to
archive (ha/member/disk_decision.py), until everything else is moved; the accounts in
config/plain_acl.yml, without which a broker with aclEnable does not start; earlier archives; the
file system's lost+found.

Invariants. No byte is deleted or replaced: if a file of the same name was archived before, the new
one gets another name in the archive. Archiving may stop anywhere and be repeated with the same
folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk, Entry
from gantrymq.store.layout import CONFIG, LOCK, OWN

PREFIX: Final = "archive-"

_ACCOUNTS: Final = f"{CONFIG}/plain_acl.yml"
_LOST_AND_FOUND: Final = "lost+found"

# Some files of these folders stay, so their entries are moved one by one, those of OWN last.
_SPLIT: Final = (CONFIG, OWN)


@final
@dataclass(frozen=True, slots=True)
class Move:
    """One rename."""

    source: str
    target: str


def plan(present: Iterable[str], archived: Iterable[str], archive: str) -> Sequence[Move]:
    """The moves of the paths `present`; `archived` are paths that the archive has already."""
    taken = set(archived)
    moves = []
    for source in sorted(present, key=_order):
        target = _free_name(f"{archive}/{source}", taken)
        taken.add(target)
        moves.append(Move(source, target))
    return moves


def _order(path: str) -> tuple[bool, str]:
    return path.startswith(f"{OWN}/"), path


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}.{number}"
    return name


def sources(disk: Disk, stays: str) -> Sequence[str]:
    """The paths to be moved. `stays` is one more path that is not moved."""
    kept = {LOCK, _LOST_AND_FOUND, _ACCOUNTS, stays}
    names = [each for each in _names(disk.list(""), "") if not each.startswith(PREFIX)]
    for folder in _SPLIT:
        if folder in names:
            names.remove(folder)
            names += _names(disk.list(folder), f"{folder}/")
    return [each for each in names if each not in kept]


def carry_out(disk: Disk, archive: str, stays: str) -> Sequence[Move]:
    """Move everything but `stays`, and sync that; the caller holds the store's lock."""
    archived = [*_names(disk.list(archive), f"{archive}/")]
    for folder in _SPLIT:
        archived += _names(disk.list(f"{archive}/{folder}"), f"{archive}/{folder}/")
    moves = plan(sources(disk, stays), archived, archive)
    disk.make_folder(archive)
    disk.sync_folder("")
    for each in moves:
        move(disk, each)
    return moves


def move(disk: Disk, wanted: Move) -> None:
    """Rename across folders. The new name is synced first, so that no crash loses both."""
    source, target = (path.rpartition("/")[0] for path in (wanted.source, wanted.target))
    disk.make_folder(target)
    disk.sync_folder(target.rpartition("/")[0])
    disk.rename(wanted.source, wanted.target)
    disk.sync_folder(target)
    disk.sync_folder(source)


def _names(entries: Sequence[Entry], prefix: str) -> list[str]:
    return [f"{prefix}{each.name}" for each in entries]
