"""Stores which disk a store directory is, and to which group its messages belong.

    gantry/identity    "GID1" | crc32 of the rest 4 | JSON

    disk     a UUID, made when a member first opened this directory: it distinguishes a new volume
             from the old one, whatever pod or member number it is mounted for
    group    the UUID of the group's Lease; "" until this disk has followed or led in a group

A running member never changes either of them: an operator decides with `gantry store adopt` or
`gantry store archive` what becomes of a disk that belongs to another group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.ha.disk.json_file import JsonFile
from gantrymq.store.layout import OWN
from gantrymq.wire.jsonvalue import JsonObject, required_text_field, text_field

PATH: Final = f"{OWN}/identity"

_FILE: Final = JsonFile(
    PATH,
    b"GID1",
    1 << 12,
    "it names the group that this disk belongs to. Restore it from a copy. If another member of the"
    " group is in sync, run `gantry store archive` on this directory instead, and this member"
    " copies the master's log again",
)
_UUID: Final = re.compile(r"[0-9a-f]{32}")


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of one disk. The default is a directory that no member has opened yet."""

    disk: str = ""
    group: str = ""


def is_uuid(text: str) -> bool:
    """Whether the text has the format of these UUIDs: 32 lower-case hexadecimal digits."""
    return _UUID.fullmatch(text) is not None


def encode(identity: Identity) -> bytes:
    return _FILE.encode(_fields(identity))


def decode(data: bytes) -> Identity:
    """Raises StoreRefusedError if the bytes are damaged."""
    return _FILE.decode(data, _parse)


def read(disk: Disk) -> Identity | None:
    """None if no member has opened this directory yet."""
    return _FILE.read(disk, _parse)


def write(disk: Disk, identity: Identity) -> None:
    """Write the file and fsync it before returning."""
    _FILE.write(disk, _fields(identity))


def _fields(identity: Identity) -> JsonObject:
    return {"disk": identity.disk, "group": identity.group}


def _parse(fields: JsonObject) -> Identity:
    disk, group = required_text_field(fields, "disk"), text_field(fields, "group") or ""
    if not is_uuid(disk) or (group and not is_uuid(group)):
        raise ValueError("it has an invalid UUID")
    return Identity(disk, group)
