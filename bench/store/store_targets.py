"""Compares ratios of the store's figures, from one run, with their targets."""

from __future__ import annotations

from collections.abc import Sequence

from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target
from bench.store.store import CPU_SUFFIX, OPEN_CPU_SUFFIX

APPEND_RATIO_MIN = 5.0
DISTURBED_RATIO_MAX = 2.0
AT_REST = ", at rest: "
APPENDS = ("groups of 64" + CPU_SUFFIX, "ours from frames" + CPU_SUFFIX)


def judge(rows: Sequence[Row]) -> list[Target]:
    """A line for each figure that has a target."""
    by_name = {row.what: row for row in rows}
    targets = []
    for row in rows:
        if row.what.startswith("append 128 B") and row.what.endswith(APPENDS):
            targets.append(_append(row))
        elif row.what.startswith("open ") and row.what.endswith(" was killed"):
            targets.append(_recovery(row, by_name[row.what + OPEN_CPU_SUFFIX]))
        elif row.what.endswith(": p99") and AT_REST not in row.what:
            rest = by_name.get(row.what.partition(", ")[0] + AT_REST + "p99")
            if rest is not None:
                targets.append(_disturbed(row, rest))
    return targets


def _append(cpu: Row) -> Target:
    ratio = cpu.ratio(JAVA, GANTRY) or 0.0
    return Target(
        f"messages a CPU second, {cpu.what.removesuffix(CPU_SUFFIX)}",
        f">= {APPEND_RATIO_MIN:.0f}x Java's",
        f"{ratio:.2f}x ({cpu.figures[GANTRY].text} us a message)",
        ratio >= APPEND_RATIO_MIN,
    )


def _recovery(clock: Row, cpu: Row) -> Target:
    """The ratio by CPU time: the files are cached, and other programs change the time by the
    clock."""
    ratio = cpu.ratio(GANTRY, JAVA) or 0.0
    by_clock = clock.ratio(GANTRY, JAVA) or 0.0
    measured = f"{ratio:.2f}x its CPU time ({by_clock:.2f}x by the clock)"
    return Target(clock.what, "faster than Java", measured, 0.0 < ratio < 1.0)


def _disturbed(row: Row, rest: Row) -> Target:
    ratio = row.figures[GANTRY].median / rest.figures[GANTRY].median
    return Target(
        row.what,
        f"<= {DISTURBED_RATIO_MAX:.0f}x that at rest",
        f"{ratio:.2f}x",
        ratio <= DISTURBED_RATIO_MAX,
    )
