"""Identifies the page cache that holds what a store has written and not yet flushed.

Written bytes survive the end of the process as long as the machine runs and the file system stays
mounted. So the identifier changes with each start of the machine and with each mount of the store's
folder: a volume that was unmounted and mounted again may have lost unflushed bytes although the
machine never went down. A new container mounts its volumes again as well and is treated alike: its
member may become master once it has caught up, or after all in-sync members have reported.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")

# statx(2): 8 bytes at this offset of the result identify the mount, uniquely where the kernel
# supports that (6.8), otherwise by a number that a later mount may reuse.
_STATX_BYTES: Final = 256
_STATX_MASK_AT: Final = 0
_STATX_MOUNT_AT: Final = 144
_STATX_MNT_ID: Final = 0x1000
_STATX_MNT_ID_UNIQUE: Final = 0x4000
_AT_FDCWD: Final = -100


def page_cache_of(folder: Path) -> str:
    """The identifier for the file system of this folder."""
    try:
        boot = _BOOT.read_text().strip()
    except OSError as error:
        raise ConfigurationError(
            f"{_BOOT} cannot be read: {error.strerror}; groupMembers needs it, to know whether the"
            " machine went down with messages that were not on its disk"
        ) from error
    return f"{boot}/{_mount_of(folder)}"


def _mount_of(folder: Path) -> str:
    """The mount's number; empty if the C library or the kernel cannot tell."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if statx is None:
        return ""
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    asked = _STATX_MNT_ID | _STATX_MNT_ID_UNIQUE
    path = ctypes.c_char_p(os.fsencode(folder))
    if statx(_AT_FDCWD, path, 0, ctypes.c_uint(asked), answer) != 0:
        return ""
    data = answer.raw
    mask = int.from_bytes(data[_STATX_MASK_AT : _STATX_MASK_AT + 4], "little")
    if not mask & asked:
        return ""
    return str(int.from_bytes(data[_STATX_MOUNT_AT : _STATX_MOUNT_AT + 8], "little"))
