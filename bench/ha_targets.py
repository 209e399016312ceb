"""What was promised of replication, held against what was measured.

All brokers of a group share a core with all others, so what decides is the CPU time of a group for
each message, master and followers together: what one core gives it. The clock stands beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.broker_sends import CPU_SUFFIX
from bench.ha_floor import FLOOR
from bench.report import Row, Target
from bench.servers import JAVA

SYNC_RATIO_MIN: Final = 3.0


def judge_sync(rows: Sequence[Row]) -> list[Target]:
    """A line for each group of ours and each kind of send."""
    by_name = {row.what: row for row in rows}
    return [
        _more_of_a_core(name, row, cpu)
        for row in rows
        if (cpu := by_name.get(row.what + CPU_SUFFIX)) is not None
        for name in row.figures
        if name not in (JAVA, FLOOR)
    ]


def judge_async(rows: Sequence[Row]) -> list[Target]:
    """Nothing was promised: it is told beside Java's."""
    del rows
    return []


def _more_of_a_core(name: str, rate: Row, cpu: Row) -> Target:
    ratio = cpu.ratio(JAVA, name) or 0.0
    by_clock = rate.ratio(name, JAVA) or 0.0
    measured = f"{ratio:.2f}x by CPU time ({by_clock:.2f}x by the clock)"
    if (most := cpu.ratio(JAVA, FLOOR)) is not None:
        measured += f"; {FLOOR}: {most:.2f}x"
    wanted = f">= {SYNC_RATIO_MIN:g}x Java's"
    return Target(f"{name}: {rate.what}", wanted, measured, ratio >= SYNC_RATIO_MIN)
