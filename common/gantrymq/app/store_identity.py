"""Implements `gantry store identity`, `adopt` and `archive`, which decide about a foreign disk.

A decision is carried out at once where no broker has the store. A broker that has it reads the
decision within a second, restarts and carries it out, provided that its group has no use for the
disk as it is; a member that follows or leads drops the decision and says so in its log.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from gantrymq.app.store_text import Json, table
from gantrymq.base.errors import ConfigurationError
from gantrymq.ha.disk import epoch_file, identity
from gantrymq.ha.disk.epochs import Epochs
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import NO_MEMBER, Lease
from gantrymq.ha.member import disk_decision, persistent_state
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.files import archive
from gantrymq.store.layout import (
    CHECKPOINT,
    COMMIT_LOG,
    CONSUME_QUEUE,
    LOCK,
    OWN,
    StoreRefusedError,
)

EPOCHS_SHOWN: Final = 5

STORE_MARKS: Final = (COMMIT_LOG, CONSUME_QUEUE, CHECKPOINT, OWN, LOCK)
"""A folder that has one of these is a store."""

_NO_EPOCHS: Final[Epochs] = ()

_T = TypeVar("_T")


class _DiskReader:
    """Reads the files of one disk. A damaged file is noted, and the others are still read."""

    def __init__(self, disk: FolderDisk) -> None:
        self._disk = disk
        self.damage: list[str] = []

    def of(self, read: Callable[[FolderDisk], _T], missing: _T) -> _T:
        try:
            return read(self._disk)
        except StoreRefusedError as error:
            self.damage.append(str(error))
            return missing


# ---------------------------------------------------------------------- identity


def _identity(disk: FolderDisk, arguments: argparse.Namespace) -> int:
    reading = _DiskReader(disk)
    found = reading.of(identity.read, None) or identity.Identity()
    epochs: Epochs = reading.of(epoch_file.read, _NO_EPOCHS)
    highest = reading.of(persistent_state.read, persistent_state.PersistentState()).epoch
    lease = reading.of(lease_copy.read, None)
    waiting = reading.of(disk_decision.read, None)
    if arguments.output == "json":
        value: dict[str, Json] = {
            "disk": found.disk,
            "group": found.group,
            "highestEpoch": highest,
            "epochs": [{"number": each.number, "start": each.start} for each in epochs],
            "lease": None if lease is None else _lease_json(lease),
            "decision": None if waiting is None else str(waiting),
            "damage": reading.damage,
        }
        _say(json.dumps(value, indent=2))
    else:
        rows = [
            ["disk", found.disk or "none: no member of a group has opened this store"],
            ["group", found.group or "none: this disk has not joined a group"],
            ["highest epoch", str(highest)],
            ["epochs", _epochs_text(epochs)],
            ["lease", "no copy is kept" if lease is None else _lease_text(lease)],
        ]
        if waiting is not None:
            rows.append(["decision", f"{waiting}; the next start of the broker carries it out"])
        _say(*table(rows), *(f"ERROR  {each}" for each in reading.damage))
    return 1 if reading.damage else 0


def _epochs_text(epochs: Epochs) -> str:
    shown = ", ".join(f"{each.number} at {each.start}" for each in epochs[-EPOCHS_SHOWN:])
    hidden = len(epochs) - EPOCHS_SHOWN
    return (f"{hidden} older ones, " if hidden > 0 else "") + (shown or "none")


def _lease_text(lease: Lease) -> str:
    holder = "no holder" if lease.holder == NO_MEMBER else f"held by member {lease.holder}"
    members = ", ".join(_members(lease)) or "none"
    return (
        f"group {lease.group or 'without UUID'}, epoch {lease.epoch}, renewal {lease.renewals},"
        f" {holder}, in sync: {members}"
    )


def _members(lease: Lease) -> Iterator[str]:
    for member in sorted(lease.in_sync):
        disk = lease.disks.get(member)
        yield f"{member} (disk {disk})" if disk else str(member)


def _lease_json(lease: Lease) -> Json:
    return {
        "group": lease.group,
        "epoch": lease.epoch,
        "renewals": lease.renewals,
        "holder": lease.holder,
        "inSync": sorted(lease.in_sync),
        "disks": {str(member): disk for member, disk in sorted(lease.disks.items())},
    }


# ---------------------------------------------------------------------- decisions


def _adopt(disk: FolderDisk, arguments: argparse.Namespace) -> int:
    group: str = arguments.group
    if not identity.is_uuid(group):
        raise ConfigurationError(
            f"--group {group} is not the UUID of a group, which has 32 lower-case hexadecimal"
            " digits; see the annotation gantrymq.dev/group-id of the group's Lease"
        )
    if not archive.sources(disk, disk_decision.PATH):
        raise ConfigurationError(
            f"{arguments.directory} is empty: there are no messages to adopt, and its member joins"
            " its group without a decision"
        )
    return _decide(disk, arguments, Decision(Choice.ADOPT, group))


def _archive(disk: FolderDisk, arguments: argparse.Namespace) -> int:
    _refuse_other_volumes(arguments.directory)
    folder = f"{archive.PREFIX}{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    return _decide(disk, arguments, Decision(Choice.ARCHIVE, folder))


def _refuse_other_volumes(root: Path) -> None:
    """Refuse links and mount points: a rename would not move what they lead to."""
    for each in root.iterdir():
        if each.is_symlink() or each.is_mount():
            raise ConfigurationError(
                f"{each} is on another volume: stop the broker, move the content of that folder to"
                " another place of its volume by hand, take the link or the mount away, run this"
                " command, and put the link or the mount back"
            )


def _decide(disk: FolderDisk, arguments: argparse.Namespace, decision: Decision) -> int:
    root = arguments.directory
    waiting = disk_decision.read(disk)
    if disk.is_locked(LOCK):
        _leave_to_broker(disk, root, decision, waiting)
        return 0
    disk.lock(LOCK)
    if waiting is not None:  # an earlier run may have done a part of it
        _say(disk_decision.carry_out(disk, waiting, _new_uuid))
    if decision.choice is Choice.ARCHIVE and not archive.sources(disk, disk_decision.PATH):
        _say(f"nothing to archive: {root} is empty")
        return 0
    disk_decision.write(disk, decision)
    _say(disk_decision.carry_out(disk, decision, _new_uuid))
    return 0


def _leave_to_broker(
    disk: FolderDisk, root: Path, decision: Decision, waiting: Decision | None
) -> None:
    if waiting is not None:
        raise ConfigurationError(
            f"a decision waits for the broker of {root} already: {waiting}; see the broker's log,"
            f" or remove {root / disk_decision.PATH} to take it back"
        )
    if identity.read(disk) is None:
        raise ConfigurationError(
            f"a broker is running on {root} that is no member of a group: it looks for no decision,"
            " so stop it and run this command again"
        )
    disk_decision.write(disk, decision)
    _say(
        f"a broker has {root} open: it restarts within a second and will {decision}, if its group"
        " does not use this disk as it is; the broker's log has the outcome"
    )


def _refuse_other_folders(root: Path) -> None:
    """Refuse a folder around the store: its lock would not be seen, and the whole would be
    moved."""
    if _is_store(root) or not any(root.iterdir()):
        return
    inner = next((each for each in sorted(root.iterdir()) if _is_store(each)), None)
    advice = f"name {inner}" if inner else "name storePathRootDir"
    raise ConfigurationError(f"{root} is not the folder of a store; {advice}")


def _is_store(folder: Path) -> bool:
    return any((folder / each).exists() for each in STORE_MARKS)


def _new_uuid() -> str:
    return uuid4().hex


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


_COMMANDS: Final[dict[str, Callable[[FolderDisk, argparse.Namespace], int]]] = {
    "identity": _identity,
    "adopt": _adopt,
    "archive": _archive,
}


def run_command(arguments: argparse.Namespace) -> int:
    """Run the command that the arguments name; return the exit code."""
    root: Path = arguments.directory
    if not root.is_dir():
        raise ConfigurationError(
            f"{root} is not a folder; name the folder storePathRootDir of the broker"
        )
    _refuse_other_folders(root)
    disk = FolderDisk(root, is_read_only=arguments.command == "identity")
    try:
        return _COMMANDS[arguments.command](disk, arguments)
    finally:
        disk.close()  # releases the lock
