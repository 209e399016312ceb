"""Stores the state of a member that has to survive a restart, fsynced before it is used.

gantry/member    "GFM1" | crc32 of the rest 4 | JSON

epoch        the highest epoch this member has seen: it never follows, or is, a master of a
             lower one
boot         the boot id of the machine when the log was last known to be complete
is_partial   the log is being copied anew, or the machine crashed with unflushed log bytes:
             acknowledged messages may be missing until this member has caught up
sure_to      the machine crashed before the log behind this position was known to be on disk:
             that part may be damaged where no checksum covers it, as in properties; absent if
             the whole log is known to be intact
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.ha.disk.json_file import JsonFile
from gantrymq.store.layout import OWN
from gantrymq.wire.jsonvalue import JsonObject, long_field, required_text_field

PATH: Final = f"{OWN}/member"

_FILE: Final = JsonFile(
    PATH,
    b"GFM1",
    1 << 16,
    "it tells which master this member has seen last; restore it from a copy. Where another member"
    " of the group is in sync, run `gantry store archive` on this directory instead, and this"
    " member copies its master's log anew",
)


@final
@dataclass(frozen=True, slots=True)
class PersistentState:
    """The content of the file. The default is a directory that no member has used."""

    epoch: int = 0
    boot: str = ""
    is_partial: bool = False
    sure_to: int | None = None


def read(disk: Disk) -> PersistentState:
    """Raises StoreRefusedError if the file is damaged: a member that lost its state could
    acknowledge messages that other members do not have."""
    return _FILE.read(disk, _parse) or PersistentState()


def write(disk: Disk, kept: PersistentState) -> None:
    """Write the file and fsync it before returning."""
    said: JsonObject = {"epoch": kept.epoch, "boot": kept.boot, "isPartial": kept.is_partial}
    if kept.sure_to is not None:
        said["sureTo"] = kept.sure_to
    _FILE.write(disk, said)


def _parse(said: JsonObject) -> PersistentState:
    epoch, boot = long_field(said, "epoch", 0), required_text_field(said, "boot")
    sure_to = long_field(said, "sureTo") if "sureTo" in said else None
    return PersistentState(epoch, boot, said.get("isPartial") is True, sure_to)
