"""Describes the machine of a run, and assigns processes to its cores.

Servers run on one core and the load on another, so that neither takes time from the other; on a
machine with one core they share it, and the facts say so.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
TICKS = os.sysconf("SC_CLK_TCK")

# The cores of `shared`, while it is in force.
_shared: set[int] = set()


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Processes started inside run on this core alone, from their first instruction."""
    with _on(_shared or {core}):
        yield


@contextmanager
def shared() -> Iterator[None]:
    """Processes started inside run on any core, even if they ask to be pinned."""
    _shared.update(CORES)
    try:
        with _on(_shared):
            yield
    finally:
        _shared.clear()


@contextmanager
def _on(cores: set[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def family(process_id: int) -> Sequence[int]:
    """A process and the children of its main thread."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    return process_id, *map(int, children.split())


def facts() -> dict[str, str]:
    """The machine and the versions, without names of machines or folders."""
    return {
        "cpu": _cpu_model(),
        "cores": str(len(CORES)),
        "memory_gib": f"{_memory_gib():.0f}",
        "kernel": platform.release().split("-")[0],
        "python": _python(),
        "java": _java_version(),
        "gantry": _gantry_version(),
        "servers_and_load": "on a core each" if len(CORES) > 1 else "on one core together",
    }


class Disturbance:
    """The share of the machine that other programs take during a run."""

    def __init__(self) -> None:
        self._before = (time.monotonic(), _busy_seconds(), _own_seconds())

    def share(self) -> float:
        """The share of all cores since the start; children are counted once they have ended."""
        began, busy, own = self._before
        others = (_busy_seconds() - busy) - (_own_seconds() - own)
        cores = os.cpu_count() or 1
        return max(0.0, others) / ((time.monotonic() - began) * cores)


def _busy_seconds() -> float:
    """CPU seconds of everything except idling and waiting for disks, plus the time that the
    hypervisor took."""
    user, nice, system, _, _, *interrupts = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + sum(interrupts)) / TICKS


def stolen_seconds() -> float:
    """CPU seconds of all cores that the hypervisor gave to other machines, since the boot."""
    return int(Path("/proc/stat").read_text().split()[8]) / TICKS


def _own_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _python() -> str:
    """Python's version and its builder. Debian builds with profiles, others may not, and the
    settings do not tell. docs/design/decisions/0014-replicated-sends.md has the difference."""
    whose = "the system's" if sys.base_prefix == "/usr" else "not the system's"
    return f"{platform.python_version()}, {whose}"


def _java_version() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[0]


def _gantry_version() -> str:
    from gantrymq.app.version import describe  # noqa: PLC0415 - the product loads when asked for

    return describe()
