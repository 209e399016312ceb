"""Compares the clients' figures with their targets.

The figure is the client's CPU time, which neither the broker nor other work on the machine changes
much; the ratio by the clock is reported beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.broker.broker_sends import CPU_SUFFIX
from bench.broker.message_requests import PULL
from bench.client.client import AWAITED, EACH_AWAITED, GATHERED, LISTS, POLLS, PUSH
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target

RATIO_MIN: Final = 1.5
GATHERED_PER_SECOND: Final = 200_000
AWAITED_PER_SECOND: Final = 15_000
COMPARED: Final = (LISTS, GATHERED, EACH_AWAITED, PUSH.format(PULL), PUSH.format(1), POLLS)


def judge(rows: Sequence[Row]) -> list[Target]:
    """A line for each figure that has a target."""
    by_name = {row.what: row for row in rows}
    targets = []
    for row in rows:
        cpu = by_name.get(row.what + CPU_SUFFIX)
        if cpu is None:
            continue
        if row.what.startswith(COMPARED):
            targets.append(_cheaper(row, cpu))
        if row.what.startswith((f"{LISTS}, 128", f"{GATHERED}, 128")):
            targets.append(_as_many(row, cpu, GATHERED_PER_SECOND))
        if row.what.startswith(f"{AWAITED}, 128"):
            targets.append(_as_many(row, cpu, AWAITED_PER_SECOND))
    return targets


def _cheaper(rate: Row, cpu: Row) -> Target:
    ratio = cpu.ratio(JAVA, GANTRY) or 0.0
    by_clock = rate.ratio(GANTRY, JAVA) or 0.0
    measured = f"{ratio:.2f}x by CPU time ({by_clock:.2f}x by the clock)"
    return Target(rate.what, f">= {RATIO_MIN:g}x Java's", measured, ratio >= RATIO_MIN)


def _as_many(rate: Row, cpu: Row, least: int) -> Target:
    seen = 1e6 / cpu.figures[GANTRY].median
    measured = f"{seen:.0f} by CPU time ({rate.figures[GANTRY].text} by the clock)"
    return Target(rate.what, f">= {least} messages/s of a core", measured, seen >= least)
