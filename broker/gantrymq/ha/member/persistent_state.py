"""Stores the state of a member that has to survive a restart, fsynced before it is used.

gantry/member    "GFM1" | crc32 of the rest 4 | JSON

epoch        the highest epoch this member has seen: it never follows, or is, a master of a
             lower one
boot         the boot id of the machine when the log was last known to be complete
is_partial   the log is being copied again, or the machine crashed with unflushed log bytes:
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
    "it records the last epoch that this member has seen. Restore it from a copy. If another member"
    " of the group is in sync, run `gantry store archive` on this directory instead, and this"
    " member copies the master's log again",
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
    fields: JsonObject = {"epoch": kept.epoch, "boot": kept.boot, "isPartial": kept.is_partial}
    if kept.sure_to is not None:
        fields["sureTo"] = kept.sure_to
    _FILE.write(disk, fields)


def _parse(fields: JsonObject) -> PersistentState:
    epoch, boot = long_field(fields, "epoch", 0), required_text_field(fields, "boot")
    sure_to = long_field(fields, "sureTo") if "sureTo" in fields else None
    return PersistentState(epoch, boot, fields.get("isPartial") is True, sure_to)
