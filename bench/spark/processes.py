"""Measures the CPU time and memory of a process together with all its children.

A Spark session is many processes: Python, a JVM, and Python workers that start and end. The time of
a child that ended counts for its parent: the system adds it when the parent reaps the child.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.machine import TICKS

GONE = (FileNotFoundError, ProcessLookupError)


def tree(process_id: int) -> Sequence[int]:
    """A process and all running processes below it."""
    found = [process_id]
    for each in found:  # the list grows during the loop
        with suppress(*GONE):
            for thread in Path(f"/proc/{each}/task").iterdir():
                with suppress(*GONE):
                    found += map(int, (thread / "children").read_text().split())
    return found


def cpu_seconds(process_id: int) -> float:
    """User and system time of the tree since its start, including children that have ended."""
    ticks = 0
    for each in tree(process_id):
        with suppress(*GONE):
            stat = Path(f"/proc/{each}/stat").read_text()
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / TICKS


def memory_mib(process_id: int) -> float:
    """The PSS of the tree: the memory of the machine that all of it takes together."""
    total = 0.0
    for each in tree(process_id):
        with suppress(*GONE):
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            if found := re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE):
                total += int(found[1]) / 1024
    return total
