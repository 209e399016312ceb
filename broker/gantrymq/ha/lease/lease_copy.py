"""Stores a copy of the last Lease that a member has seen, to detect a Lease that was set back.

    gantry/lease    "GLC1" | crc32 of the rest 4 | JSON

The copy is written before the member acts on a changed Lease. It is not written for a renewal that
changes nothing else: its mark is that of the first write with the same content.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.disk import Disk
from gantrymq.ha.disk.json_file import JsonFile
from gantrymq.ha.lease.lease import Lease
from gantrymq.store.layout import OWN
from gantrymq.wire.jsonvalue import (
    JsonObject,
    list_of,
    long_field,
    long_of,
    object_of,
    required_text_field,
    text_field,
)

PATH: Final = f"{OWN}/lease"

_FILE: Final = JsonFile(
    PATH,
    b"GLC1",
    1 << 16,
    "it holds the last Lease that this member has seen. Restore it from a copy. If another member"
    " of the group is in sync, run `gantry store archive` on this directory instead, and this"
    " member copies the master's log again",
)


def is_new(lease: Lease, copy: Lease | None) -> bool:
    """Whether the lease differs from the copy in more than its renewal count."""
    return copy is None or _content(lease) != _content(copy)


def _content(lease: Lease) -> tuple[object, ...]:
    identity = lease.group, lease.epoch, lease.holder, lease.in_sync, dict(lease.disks)
    return *identity, lease.successor, lease.leaver, lease.address, lease.ha_address


def encode(lease: Lease) -> bytes:
    return _FILE.encode(_object(lease))


def decode(data: bytes) -> Lease:
    """Raises StoreRefusedError if the bytes are damaged."""
    return _FILE.decode(data, _parse)


def read(disk: Disk) -> Lease | None:
    """None if this disk has seen no Lease."""
    return _FILE.read(disk, _parse)


def write(disk: Disk, lease: Lease) -> None:
    """Write the file and fsync it before returning."""
    _FILE.write(disk, _object(lease))


def _object(lease: Lease) -> JsonObject:
    return {
        "group": lease.group,
        "epoch": lease.epoch,
        "renewals": lease.renewals,
        "granted": lease.granted,
        "holder": lease.holder,
        "address": lease.address,
        "haAddress": lease.ha_address,
        "inSync": [*sorted(lease.in_sync)],
        "disks": {str(member): disk for member, disk in sorted(lease.disks.items())},
        "heir": lease.successor,
        "leaver": lease.leaver,
        "writer": lease.writer,
    }


def _parse(fields: JsonObject) -> Lease:
    disks = object_of(fields.get("disks"), "disks")
    members = list_of(fields.get("inSync"), "inSync")
    return Lease(
        group=text_field(fields, "group") or "",
        epoch=long_field(fields, "epoch"),
        renewals=long_field(fields, "renewals"),
        granted=long_field(fields, "granted"),
        holder=long_field(fields, "holder"),
        address=text_field(fields, "address") or "",
        ha_address=text_field(fields, "haAddress") or "",
        in_sync=frozenset(long_of(each, "a member") for each in members),
        disks={int(str(member)): required_text_field(disks, str(member)) for member in disks},
        successor=long_field(fields, "heir"),
        leaver=long_field(fields, "leaver"),
        writer=text_field(fields, "writer") or "",
    )
