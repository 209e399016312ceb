"""Mounts a folder on a file system whose power a test can cut.

    with Mount(tmp_path) as mount:      # an empty folder
        disk = FolderDisk(mount.root)
        ...
        mount.cut("lose_all")       # or "keep_all", or a seed
        disk = FolderDisk(mount.root)

What was not synced is lost, kept or torn by the rules of `gantrymq.testing.faulty_disk`. Files that
were open before a cut answer nothing but errors. It needs root and /dev/fuse.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, final

from gantrymq.base.disk import DiskFailure

ANSWER_SECONDS: Final = 30.0
SOURCE_ROOT: Final = Path(__file__).resolve().parent.parent.parent


@final
class Mount:
    """The mounted folder, which owns the process of the file system."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gantrymq.powercut.server", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
        )
        self._answer()

    def __enter__(self) -> Mount:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def cut(self, choices: str) -> int:
        """Cut the power and restore it; return the number of changes and syncs since it came."""
        return self._order(do="cut", choices=choices)

    def crash_at(self, operation: int) -> None:
        """Cut the power at this change or sync since it came; `cut` restores it."""
        self._order(do="crash_at", operation=str(operation))

    def fail(
        self,
        operation: str,
        failure: DiskFailure = DiskFailure.BROKEN,
        *,
        path: str = "",
        times: int = 1,
    ) -> None:
        """Refuse the next calls of this method of the faulty disk behind the mount."""
        order = {"operation": operation, "failure": failure.name, "path": path}
        self._order(do="fail", times=str(times), **order)

    def slow(self, seconds: float) -> None:
        """Make each sync take this much longer from now on; 0 ends it. Syncs may overlap."""
        self._order(do="slow", seconds=str(seconds))

    def resize(self, total_bytes: int) -> None:
        """Set the size of the partition; if it is below the used bytes, the partition is full."""
        self._order(do="resize", total_bytes=str(total_bytes))

    @property
    def operations(self) -> int:
        """The number of changes and syncs since the power came."""
        return self._order(do="operations")

    def close(self) -> None:
        self._process.communicate(timeout=ANSWER_SECONDS)

    def _order(self, **order: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], ANSWER_SECONDS)[0], "no answer"
        answer = json.loads(self._process.stdout.readline() or '{"error": "it died"}')
        if "error" in answer:
            self.close()
            raise RuntimeError(
                f"the power-cut file system does not work: {answer['error']}; its tests need root, "
                "/dev/fuse and the right to mount (a container: --privileged)"
            )
        return int(answer["operations"])
