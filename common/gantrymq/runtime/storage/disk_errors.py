"""Converts system errors to errors of the disk port, and refuses invalid paths and ranges.

System errors map to: ENOSPC, EDQUOT -> NO_SPACE; ENOENT, ENOTDIR, EISDIR -> NOT_FOUND (there is no
such file or folder); EEXIST, ENOTEMPTY -> EXISTS; EMFILE, ENFILE -> TOO_MANY_FILES, only when an
existing file is opened, as all other operations use the descriptor reserve; everything else ->
BROKEN with the system's text. The text of an error has the full path, for people;
`DiskError.path` is relative as in all errors of the port.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gantrymq.base.disk import DiskError, DiskFailure, path_parts
from gantrymq.base.errors import LocalError

_FAILURES: Final = {
    errno.ENOSPC: DiskFailure.NO_SPACE,
    errno.EDQUOT: DiskFailure.NO_SPACE,
    errno.ENOENT: DiskFailure.NOT_FOUND,
    errno.ENOTDIR: DiskFailure.NOT_FOUND,
    errno.EISDIR: DiskFailure.NOT_FOUND,
    errno.EEXIST: DiskFailure.EXISTS,
    errno.ENOTEMPTY: DiskFailure.EXISTS,
    errno.EMFILE: DiskFailure.TOO_MANY_FILES,
    errno.ENFILE: DiskFailure.TOO_MANY_FILES,
}

_NO_ROOT: Final = Path()


def disk_error(error: OSError, operation: str, path: str, root: Path = _NO_ROOT) -> DiskError:
    """The error of the system as an error of the port."""
    failure = _FAILURES.get(error.errno or 0, DiskFailure.BROKEN)
    return failed(failure, operation, path, root, error.strerror or str(error))


def failed(failure: DiskFailure, operation: str, path: str, root: Path, detail: str) -> DiskError:
    """An error whose text has the full path and whose `path` is relative."""
    error = DiskError(failure, operation, str(root / path), detail)
    error.path = path
    return error


@contextlib.contextmanager
def mapped_errors(operation: str, root: Path, path: str) -> Iterator[None]:
    """Convert an OSError of the block to a DiskError."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, operation, path, root) from error


def refuse_root(operation: str, *paths: str) -> None:
    """Raise LocalError if a path is the root itself."""
    if not all(path_parts(path) for path in paths):
        raise LocalError(f"{operation} needs a name below the disk's root")


def refuse_negative(*numbers: int) -> None:
    """Raise LocalError if a position or size is negative."""
    if min(numbers) < 0:
        raise LocalError(f"not a range of a file: {numbers}")
