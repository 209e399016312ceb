"""Stores and carries out an operator's decision about a disk that does not belong to its group.

    gantry/decision    "GDN1" | crc32 of the rest 4 | JSON

    adopt      the messages of this disk are the group's: its identity names the group from now on,
               and its copy of the Lease, which may be another group's, is removed
    archive    the store moves into a folder beside it (store/files/archive.py), and its member
               begins with an empty store and a new UUID

`gantry store adopt` and `archive` write the file, and carry out the decision if no broker has the
store open. If one has, that broker restarts and carries it out before it opens the store.

Invariant: the decision is on the disk before its first step, and is removed after its last step. So
the process may stop at any step: the next start finishes the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.disk.json_file import JsonFile
from gantrymq.ha.lease import lease_copy
from gantrymq.store.files import archive, atomic_file
from gantrymq.store.files.archive import Move
from gantrymq.store.layout import OWN
from gantrymq.wire.jsonvalue import JsonObject, required_text_field

PATH: Final = f"{OWN}/decision"

_FILE: Final = JsonFile(
    PATH,
    b"GDN1",
    1 << 12,
    "it holds the decision of `gantry store adopt` or `gantry store archive`; remove the file and"
    " run the command again",
)


class Choice(Enum):
    """What becomes of the disk."""

    ADOPT = "adopt"
    ARCHIVE = "archive"


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """`argument` is the group's UUID to adopt, or the name of the folder to archive into."""

    choice: Choice
    argument: str

    def __str__(self) -> str:
        what = "adopt group" if self.choice is Choice.ADOPT else "archive into"
        return f"{what} {self.argument}"


def encode(decision: Decision) -> bytes:
    return _FILE.encode(_fields(decision))


def decode(data: bytes) -> Decision:
    """Raises StoreRefusedError if the bytes are damaged."""
    return _FILE.decode(data, _parse)


def _fields(decision: Decision) -> JsonObject:
    return {"choice": decision.choice.value, "argument": decision.argument}


def _parse(fields: JsonObject) -> Decision:
    choice = Choice(required_text_field(fields, "choice"))
    return _checked(Decision(choice, required_text_field(fields, "argument")))


def _checked(decision: Decision) -> Decision:
    is_adoption = decision.choice is Choice.ADOPT
    argument = decision.argument
    if is_adoption and not identity.is_uuid(argument):
        raise ValueError(f"{argument} is not a UUID of 32 lower-case hexadecimal digits")
    if not is_adoption and (not argument.startswith(archive.PREFIX) or "/" in argument):
        raise ValueError(f"{argument} is not the name of an archive folder")
    return decision


def read(disk: Disk) -> Decision | None:
    """None if nothing was decided."""
    return _FILE.read(disk, _parse)


def write(disk: Disk, decision: Decision) -> None:
    """Write the file and fsync it before returning. Raises ValueError for an invalid argument."""
    _FILE.write(disk, _fields(_checked(decision)))


def drop(disk: Disk) -> None:
    """Remove the decision before any of it is carried out."""
    atomic_file.remove(disk, PATH)
    disk.sync_folder(OWN)


def carry_out(disk: Disk, decision: Decision, new_uuid: Callable[[], str]) -> str:
    """Carry out the remaining steps of the decision; returns what was done. The caller holds the
    store's lock and has read the decision from this disk."""
    if decision.choice is Choice.ADOPT:
        return _adopt(disk, decision.argument, new_uuid)
    moves = archive.carry_out(disk, decision.argument, PATH)
    archive.move(disk, Move(PATH, f"{decision.argument}/{PATH}"))
    return f"archived the store in {decision.argument}: moved {len(moves)} files and folders"


def _adopt(disk: Disk, group: str, new_uuid: Callable[[], str]) -> str:
    known = identity.read(disk) or Identity(new_uuid())
    identity.write(disk, replace(known, group=group))
    atomic_file.remove(disk, lease_copy.PATH)
    disk.sync_folder(OWN)  # before the decision is removed, as that means "done"
    drop(disk)
    return f"adopted group {group}: disk {known.disk} belonged to {known.group or 'no group'}"
