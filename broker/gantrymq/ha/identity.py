"""Which disk a store directory is, and to which group its messages belong.

gantry/identity    "GID1" | crc32 of the rest 4 | JSON

disk     a UUID, made when a member first opened this directory: it tells a new volume from the old
         one, whatever pod or number it is mounted for
group    the UUID of the group's Lease; "" until this disk has followed or led in a group

Neither is ever changed by a running member: `gantry store adopt` and `gantry store archive` are how
a person decides what becomes of a disk that belongs elsewhere.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.base.errors import RemoteError
from gantrymq.store import own_file
from gantrymq.store.layout import OWN, StoreRefusedError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import object_of, required_text_field, text_field

PATH: Final = f"{OWN}/identity"
MAGIC: Final = b"GID1"
FILE_BYTES_MAX: Final = 1 << 12

_UUID: Final = re.compile(r"[0-9a-f]{32}")


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """The default is a directory that no member has opened yet."""

    disk: str = ""
    group: str = ""


def is_uuid(text: str) -> bool:
    """Whether it is written as identities are: 32 small hexadecimal digits."""
    return _UUID.fullmatch(text) is not None


def encode(identity: Identity) -> bytes:
    body = javajson.dumps_standard({"disk": identity.disk, "group": identity.group})
    return MAGIC + zlib.crc32(body).to_bytes(4, "big") + body


def decode(data: bytes) -> Identity:
    """StoreRefusedError when it is not what was written."""
    if data[:8] != MAGIC + zlib.crc32(data[8:]).to_bytes(4, "big"):
        raise _damaged("its sum is wrong")
    try:
        said = object_of(javajson.loads(data[8:]), PATH)
        disk, group = required_text_field(said, "disk"), text_field(said, "group") or ""
    except RemoteError as error:
        raise _damaged(str(error)) from error
    if not is_uuid(disk) or (group and not is_uuid(group)):
        raise _damaged("a UUID in it is none")
    return Identity(disk, group)


def read(disk: Disk) -> Identity | None:
    """None where no member has opened this directory yet."""
    data = own_file.content(disk, PATH, FILE_BYTES_MAX)
    return None if data is None else decode(data)


def write(disk: Disk, identity: Identity) -> None:
    """For good, when this returns."""
    own_file.replace(disk, PATH, encode(identity))


def _damaged(how: str) -> StoreRefusedError:
    return StoreRefusedError(
        f"{PATH} is damaged ({how}): it tells which group this disk belongs to; restore it from a"
        " copy, or run `gantry store archive` on this directory, and its member begins empty and"
        " copies its master's log anew"
    )
