"""What a member must not forget, for good before it acts on it.

gantry/member    "GFM1" | crc32 of the rest 4 | JSON

epoch        the highest it has seen: it never follows, or is, a master of a lower one
boot         of its machine when its log was known to be whole
is_partial   its log is being copied anew, or its machine went down with the log's end: what was
             acknowledged may not be in it, until it has caught up
sure_to      its machine went down before what lies behind was known to be on the disk: that may be
             damaged where no sum covers it, as in properties; none: all is what was written
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.ha.json_file import JsonFile
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
class Kept:
    """The default is a member that has never been one."""

    epoch: int = 0
    boot: str = ""
    is_partial: bool = False
    sure_to: int | None = None


def read(disk: Disk) -> Kept:
    """StoreRefusedError when it is not what was written: a member that forgot what it has seen
    could acknowledge what others do not have."""
    return _FILE.read(disk, _parse) or Kept()


def write(disk: Disk, kept: Kept) -> None:
    """For good, when this returns."""
    said: JsonObject = {"epoch": kept.epoch, "boot": kept.boot, "isPartial": kept.is_partial}
    if kept.sure_to is not None:
        said["sureTo"] = kept.sure_to
    _FILE.write(disk, said)


def _parse(said: JsonObject) -> Kept:
    epoch, boot = long_field(said, "epoch", 0), required_text_field(said, "boot")
    sure_to = long_field(said, "sureTo") if "sureTo" in said else None
    return Kept(epoch, boot, said.get("isPartial") is True, sure_to)
