"""Compares the broker's figures with their targets.

Ratios are of one run. Sizes and start times have targets for this machine only: on another machine
they show whether it is slow. Where the load program is the load, rates are compared by the broker's
CPU time, which other work on the machine hardly changes; Java's client is itself the limit, so its
rates are compared by the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.broker.broker_reads import BACKLOG
from bench.broker.broker_sends import CPU_SUFFIX, HALF_OF_JAVA, SYNC_SHARE
from bench.broker.broker_starts import (
    IDLE_RSS,
    RSS_AFTER,
    START_CPU_SUFFIX,
    START_EMPTY,
    START_KILLED,
    START_QUEUES,
)
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target

SYNC_RATIO_MIN = 2.5
BATCH_RATIO_MIN = 4.0
PROGRAM_RATIO_MIN = 5.0
BACKLOG_RATIO_MIN = 1.0
SEND_CPU_MAX = 1 / 8
READ_CPU_MAX = 1 / 4
FLUSH_SHARE_MIN = 50.0
P99_RATIO_MAX = 1 / 3
PAUSE_MS_MAX = 50.0
IDLE_MIB_MAX, FULL_MIB_MAX = 80.0, 150.0
EMPTY_SECONDS_MAX, QUEUES_SECONDS_MAX, KILLED_SECONDS_MAX = 1.0, 3.0, 5.0


# The beginning of a row's text, its unit, and the highest value allowed.
LIMITS: Mapping[tuple[str, str], float] = {
    (f"{HALF_OF_JAVA}: longest pause", "ms"): PAUSE_MS_MAX,
    (IDLE_RSS, "MiB"): IDLE_MIB_MAX,
    (RSS_AFTER, "MiB"): FULL_MIB_MAX,
    (START_EMPTY, "s"): EMPTY_SECONDS_MAX,
    (START_QUEUES, "s"): QUEUES_SECONDS_MAX,
    (START_KILLED, "s"): KILLED_SECONDS_MAX,
}


def judge(rows: Sequence[Row]) -> list[Target]:
    """A line for each figure that has a target."""
    by_name = {row.what: row for row in rows}
    targets = []
    for row in rows:
        cpu = by_name.get(row.what + CPU_SUFFIX)
        if cpu is not None:
            targets += _rates(row, cpu)
        else:
            targets += _limits(row)
    return targets


def _rates(rate: Row, cpu: Row) -> list[Target]:
    what = rate.what
    if what.startswith("Java client") and ": sync" in what:
        return [_faster(rate, SYNC_RATIO_MIN), _cheaper(cpu, SEND_CPU_MAX)]
    if what.startswith("Java client") and ": batches" in what:
        return [_faster(rate, BATCH_RATIO_MIN)]
    if what.startswith("load program") and ": 64 connections" in what:
        return [_more_of_a_core(rate, cpu)]
    if what in {BACKLOG.format(encoding, "push") for encoding in ("JSON", "binary")}:
        return [_faster(rate, BACKLOG_RATIO_MIN), _cheaper(cpu, READ_CPU_MAX)]
    return []


def _limits(row: Row) -> list[Target]:
    what = row.what
    if what == f"{HALF_OF_JAVA}: p99":
        ratio = row.ratio(GANTRY, JAVA) or 0.0
        measured = f"{ratio:.2f}x ({row.figures[GANTRY].text} ms)"
        return [Target(what, "<= 1/3 of Java's", measured, 0.0 < ratio <= P99_RATIO_MAX)]
    if not what.endswith(START_CPU_SUFFIX):
        for (beginning, unit), limit in LIMITS.items():
            if what.startswith(beginning) and row.unit == unit:
                return [_at_most(row, limit)]
    if what == SYNC_SHARE:
        share = row.figures[GANTRY].median
        wanted = f">= {FLUSH_SHARE_MIN:.0f} %"
        return [Target(what, wanted, f"{share:.0f} %{_of_java(row)}", share >= FLUSH_SHARE_MIN)]
    return []


def _faster(rate: Row, least: float) -> Target:
    ratio = rate.ratio(GANTRY, JAVA) or 0.0
    measured = f"{ratio:.2f}x ({rate.figures[GANTRY].text} messages/s)"
    return Target(rate.what, f">= {least:g}x Java's", measured, ratio >= least)


def _cheaper(cpu: Row, most: float) -> Target:
    ratio = cpu.ratio(GANTRY, JAVA) or 0.0
    measured = f"{ratio:.3f}x ({cpu.figures[GANTRY].text} us)"
    return Target(cpu.what, f"<= 1/{1 / most:.0f} of Java's", measured, 0.0 < ratio <= most)


def _more_of_a_core(rate: Row, cpu: Row) -> Target:
    ratio = cpu.ratio(JAVA, GANTRY) or 0.0
    by_clock = rate.ratio(GANTRY, JAVA) or 0.0
    measured = f"{ratio:.2f}x by CPU time ({by_clock:.2f}x by the clock)"
    wanted = f">= {PROGRAM_RATIO_MIN:g}x Java's"
    return Target(
        f"messages a second of one core, {rate.what}", wanted, measured, ratio >= PROGRAM_RATIO_MIN
    )


def _at_most(row: Row, limit: float) -> Target:
    seen = row.figures[GANTRY].median
    measured = f"{row.figures[GANTRY].text} {row.unit}{_of_java(row)}"
    return Target(row.what, f"<= {limit:g} {row.unit}", measured, seen <= limit)


def _of_java(row: Row) -> str:
    return f" (Java {row.figures[JAVA].text})" if JAVA in row.figures else ""
