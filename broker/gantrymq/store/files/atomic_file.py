"""Replaces whole files atomically: after a crash there is either the old file or the new one.

The new content is written to NAME.new and synced; then that file is renamed. A NAME.new that is
left over has no meaning.
"""

from __future__ import annotations

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.layout import OWN


def content(disk: Disk, path: str, bytes_max: int) -> bytes | None:
    """The content of the file, at most `bytes_max`; None if there is no such file."""
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
    """Replace the file. The new content is synced when this returns."""
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
    """Sync the existing file. That needs no space, but if an earlier sync of it has failed, its
    content may be lost all the same."""
    file = disk.open(path)
    try:
        file.sync()
    finally:
        file.close()
    disk.sync_folder(OWN)


def remove(disk: Disk, path: str) -> bool:
    """Remove the file; whether it existed. Until its folder is synced a crash may bring it back."""
    try:
        disk.remove(path)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        return False
    return True
