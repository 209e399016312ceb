"""Stores that break their promise: a suite that does not notice them proves nothing.

    deaf    what the background is asked to sync counts as synced at once
    lazy    recovery takes what it can read for what is on disk, and does not write it again

They change the ports below the store, not the store, which may be compiled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, TypeAlias
from unittest.mock import patch

from gantrymq.base.disk import File
from gantrymq.runtime.storage.disk import FolderFile
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.layout import COMMIT_LOG

IsOpen: TypeAlias = Callable[[], bool]
"""Whether recovery is over."""


def _deaf(_: IsOpen) -> AbstractContextManager[object]:
    def end_at_once(background: DiskBackground, file: File) -> int:
        return background.read(file, 0, 0)

    return patch.object(DiskBackground, "sync", end_at_once)


@contextlib.contextmanager
def _lazy(is_open: IsOpen) -> Iterator[None]:
    write = FolderFile.write

    def write_later(file: FolderFile, position: int, pieces: Sequence[bytes]) -> None:
        if is_open() or not file.path.startswith(COMMIT_LOG):
            write(file, position, pieces)

    with patch.object(FolderFile, "write", write_later):
        yield


MUTANTS: Final[Mapping[str, Callable[[IsOpen], AbstractContextManager[object]]]] = {
    "": lambda _: contextlib.nullcontext(),
    "deaf": _deaf,
    "lazy": _lazy,
}
