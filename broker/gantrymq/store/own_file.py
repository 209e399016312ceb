"""A file of ours that is replaced as a whole: a stop in between leaves the old one or the new one.

It is written beside, under NAME.new, synced, and then takes the name. A NAME.new that is left
behind means nothing.
"""

from __future__ import annotations

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.layout import OWN


def content(disk: Disk, path: str, bytes_max: int) -> bytes | None:
    """None when there is no such file."""
    try:
        file = disk.open(path)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        return None
    try:
        return file.read(0, bytes_max)
    finally:
        file.close()


def replace(disk: Disk, path: str, data: bytes) -> None:
    """For good, when this returns."""
    new_path = f"{path}.new"
    disk.make_folder(OWN)
    remove(disk, new_path)
    file = disk.create(new_path)
    try:
        file.write(0, [data])
        file.sync()
    finally:
        file.close()
    disk.rename(new_path, path)
    disk.sync_folder(OWN)


def sync(disk: Disk, path: str) -> None:
    """The one that is there, for good; it needs no space, but a sync that failed before may have
    been the last chance."""
    file = disk.open(path)
    try:
        file.sync()
    finally:
        file.close()
    disk.sync_folder(OWN)


def remove(disk: Disk, path: str) -> bool:
    """Whether there was one; it may come back until the folder is synced."""
    try:
        disk.remove(path)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        return False
    return True
