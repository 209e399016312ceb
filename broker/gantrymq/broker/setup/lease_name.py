"""Chooses the name of a group's Lease if leaseName is not set, and remembers the name in use.

    main, a        ->  main-a                     no other cluster and group give this name
    a-b, c         ->  a-b-c-<10 hex digits>      a digest distinguishes it from a and b-c
    Main, a        ->  main-a-<10 hex digits>     a Lease's name has lower-case letters only

A group that was created by an earlier version has its Lease under the plain name, without a digest,
and keeps it: with two names there would be two Leases and two masters. The name in use is on the
member's disk,

    gantry/lease-name   the name, as UTF-8

before the member learns of an epoch. So a disk that has seen an epoch and lacks this file was used
by the earlier version; a member with any other disk uses the one of the two Leases that exists.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from gantrymq.base.disk import Disk
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.ha.member import persistent_state
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/lease-name"

_NAME_BYTES_MAX: Final = 253
_DIGEST_CHARACTERS: Final = 10
_PLAIN: Final = re.compile(r"[a-z0-9.]+")


def plain_name(cluster: str, group: str) -> str:
    """The default of earlier versions."""
    return f"{cluster}-{group}".lower()


def default_name(cluster: str, group: str) -> str:
    """The default: a different name for each cluster and group."""
    name = plain_name(cluster, group)
    if _PLAIN.fullmatch(cluster) and _PLAIN.fullmatch(group):
        return name
    both = f"{len(cluster)} {cluster} {group}".encode()
    return f"{name}-{hashlib.sha256(both).hexdigest()[:_DIGEST_CHARACTERS]}"


def places(
    disk: Disk, lease: ObjectName, former: ObjectName | None
) -> tuple[ObjectName, ObjectName | None]:
    """The place of the Lease, and that of an earlier version, which is used if only it exists.
    `former` is None if both are the same."""
    if former is None:
        return lease, None
    noted = atomic_file.content(disk, PATH, _NAME_BYTES_MAX)
    if noted is not None:
        for place in (lease, former):
            if place.name.encode() == noted:
                return place, None
    elif persistent_state.read(disk).epoch:
        return former, None
    return lease, former


def note(disk: Disk, place: ObjectName) -> None:
    """Record that the group's Lease is there; fsynced before returning."""
    atomic_file.replace(disk, PATH, place.name.encode())
