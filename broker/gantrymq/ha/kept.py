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

import zlib
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.base.errors import RemoteError
from gantrymq.store import own_file
from gantrymq.store.layout import OWN, StoreRefusedError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import (
    JsonObject,
    long_field,
    object_of,
    required_text_field,
)

PATH: Final = f"{OWN}/member"
MAGIC: Final = b"GFM1"
FILE_BYTES_MAX: Final = 1 << 16


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
    data = own_file.content(disk, PATH, FILE_BYTES_MAX)
    if data is None:
        return Kept()
    if data[:8] != MAGIC + zlib.crc32(data[8:]).to_bytes(4, "big"):
        raise _damaged("its sum is wrong")
    try:
        said = object_of(javajson.loads(data[8:]), PATH)
        epoch, boot = long_field(said, "epoch", 0), required_text_field(said, "boot")
        sure_to = long_field(said, "sureTo") if "sureTo" in said else None
    except RemoteError as error:
        raise _damaged(str(error)) from error
    return Kept(epoch, boot, said.get("isPartial") is True, sure_to)


def _damaged(how: str) -> StoreRefusedError:
    return StoreRefusedError(
        f"{PATH} is damaged ({how}): it tells which master this member has seen last; empty the"
        " store of this member, and it copies its master's log anew"
    )


def write(disk: Disk, kept: Kept) -> None:
    """For good, when this returns."""
    said: JsonObject = {"epoch": kept.epoch, "boot": kept.boot, "isPartial": kept.is_partial}
    if kept.sure_to is not None:
        said["sureTo"] = kept.sure_to
    body = javajson.dumps_standard(said)
    own_file.replace(disk, PATH, MAGIC + zlib.crc32(body).to_bytes(4, "big") + body)
