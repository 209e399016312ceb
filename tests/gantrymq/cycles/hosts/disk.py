"""A member's partition: a file system of limited size in memory, which a file of ours can fill."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Final, final

SIZE_BYTES: Final = 1 << 30
_PIECE_BYTES: Final = 1 << 20
_PAGE_BYTES: Final = 4096


@final
class SmallDisk:
    """Mounted where a folder is; gone with the enclosure."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"
        root.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "gantry-cycle", str(root)]
        subprocess.run(command, check=True)

    def fill(self) -> None:
        """Not a byte is left."""
        with self._ballast.open("ab") as file:
            for piece in (_PIECE_BYTES, _PAGE_BYTES):
                _grow(file.fileno(), piece)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.root)], check=True)


def _grow(file: int, piece: int) -> None:
    try:
        while True:
            os.posix_fallocate(file, os.fstat(file).st_size, piece)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
