"""Compares measured ratios and sizes with their targets.

There are no targets for times: times of one machine say nothing about another.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.namesrv.routes import CPU_SUFFIX
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target

IDLE_RSS_MIB_MAX = 50.0
ANSWERS_RATIO_MIN = 3.0


def judge(rows: Sequence[Row]) -> list[Target]:
    """A line for each figure that has a target."""
    by_name = {row.what: row for row in rows}
    targets = [_idle(row) for row in rows if row.what == "idle: RSS"]
    for row in rows:
        cpu = by_name.get(row.what + CPU_SUFFIX)
        if cpu is not None:
            targets.append(_answers(row, cpu))
    return targets


def _idle(row: Row) -> Target:
    measured = row.figures[GANTRY].median
    return Target(
        "RSS with no broker registered",
        f"<= {IDLE_RSS_MIB_MAX:.0f} MiB",
        f"{measured:.1f} MiB (Java {row.figures[JAVA].median:.0f})",
        measured <= IDLE_RSS_MIB_MAX,
    )


def _answers(rate: Row, cpu: Row) -> Target:
    """The ratio by CPU time: other programs slow down the rate, but hardly change the CPU time."""
    ratio = cpu.ratio(JAVA, GANTRY) or 0.0
    return Target(
        f"answers a second of one core, {rate.what}",
        f">= {ANSWERS_RATIO_MIN:.0f}x Java's",
        f"{ratio:.2f}x by CPU time ({rate.ratio(GANTRY, JAVA) or 0.0:.2f}x by the clock)",
        ratio >= ANSWERS_RATIO_MIN,
    )
