"""Tells how much memory this process may use: the machine's, or less where a cgroup limits it.

    v2    /proc/self/cgroup has `0::<path>`; memory.max of <path> and of each folder above it
    v1    /proc/self/cgroup has `<n>:<controllers with memory>:<path>`; memory.limit_in_bytes of the
          same folders, below /sys/fs/cgroup/memory

Invariant: the smallest limit counts, since the kernel enforces each of them. A container sees its
own folder as the root, or the path of the host: folders that do not exist are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

PROC: Final = Path("/proc/self/cgroup")
MOUNT: Final = Path("/sys/fs/cgroup")


def memory_bytes(proc: Path = PROC, mount: Path = MOUNT) -> int:
    """The number of bytes that this process may use."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(proc, mount)])


def _limits(proc: Path, mount: Path) -> Iterator[int]:
    """Yield every limit on the path from the process's cgroup to the root."""
    try:
        lines = proc.read_text().splitlines()
    except OSError:
        return  # a kernel without cgroups
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _limits_of(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_of(mount / "memory", path, "memory.limit_in_bytes")


def _limits_of(root: Path, path: str, name: str) -> Iterator[int]:
    own = PurePosixPath(path.lstrip("/"))
    for folder in (own, *own.parents):
        try:
            text = (root / folder / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # v2 writes "max" for no limit, v1 a number above any machine's memory
            yield int(text)
