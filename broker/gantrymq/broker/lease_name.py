"""Names the Lease of a group whose settings give no leaseName, and remembers which name it uses.

    main, a        ->  main-a                     no other two names give this one
    a-b, c         ->  a-b-c-<10 hex digits>      a digest tells it from a and b-c
    Main, a        ->  main-a-<10 hex digits>     a Lease has small letters alone

A group that began under an earlier version has its Lease under the plain name, without a digest. It
keeps that: two names would be two Leases, and two masters. What a member uses is on its disk,

    gantry/lease-name   the name, as UTF-8

before the member learns of an epoch. So a disk that has seen one and lacks this file is of the
earlier version; a member with any other disk goes by which of the two Leases exists.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from gantrymq.base.disk import Disk
from gantrymq.ha import kept
from gantrymq.ha.lease_object import ObjectName
from gantrymq.store import own_file
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/lease-name"

_NAME_BYTES_MAX: Final = 253
_DIGEST_CHARACTERS: Final = 10
_PLAIN: Final = re.compile(r"[a-z0-9.]+")


def plain_name(cluster: str, group: str) -> str:
    """The default of earlier versions."""
    return f"{cluster}-{group}".lower()


def default_name(cluster: str, group: str) -> str:
    """The default: another one for each cluster and group."""
    name = plain_name(cluster, group)
    if _PLAIN.fullmatch(cluster) and _PLAIN.fullmatch(group):
        return name
    both = f"{len(cluster)} {cluster} {group}".encode()
    return f"{name}-{hashlib.sha256(both).hexdigest()[:_DIGEST_CHARACTERS]}"


def places(
    disk: Disk, lease: ObjectName, former: ObjectName | None
) -> tuple[ObjectName, ObjectName | None]:
    """The Lease, and that of an earlier version, which takes its place if it exists alone. `former`
    is where that one would be, None where it is the same."""
    if former is None:
        return lease, None
    noted = own_file.content(disk, PATH, _NAME_BYTES_MAX)
    if noted is not None:
        for place in (lease, former):
            if place.name.encode() == noted:
                return place, None
    elif kept.read(disk).epoch:
        return former, None
    return lease, former


def note(disk: Disk, place: ObjectName) -> None:
    """For good, when this returns: the group has its Lease there."""
    own_file.replace(disk, PATH, place.name.encode())
