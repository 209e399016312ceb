"""Compares the measured throughput of replication with its target.

The target is a ratio of throughput: for single sends of one size, the highest throughput of
Gantry's pair under any measured load, compared with Java's, each under its own best load, which the
line names. All brokers of a group share a core with all others, so the figure is first the group's
CPU time for each message, master and followers together: what one core provides. The highest
throughput by the clock, which another load may reach, must have the same ratio.

Batches and elected groups are reported in the same way, and every load on its own: clients that
each wait for an answer before they send again value latency over throughput, which costs every
broker more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from bench.broker.broker_sends import BATCH, BODY, CPU_SUFFIX
from bench.ha.ha import ASYNC_ORDERS, CLIENT_ORDERS, KIB, SYNC_ORDERS, ClientOrder, Order, size_text
from bench.ha.ha_floor import FLOOR
from bench.ha.ha_groups import COLUMNS
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target

SYNC_RATIO_MIN: Final = 3.0
OURS: Final = tuple(name for name in COLUMNS if name != JAVA)


def judge_sync(rows: Sequence[Row]) -> list[Target]:
    """Two lines with a target, then the lines that are only reported."""
    by_name = {row.what: row for row in rows}
    lines = list(_most_of_all(by_name, SYNC_ORDERS, CLIENT_ORDERS, is_promised=True))
    return lines + _each_way(rows, by_name)


def judge_async(rows: Sequence[Row]) -> list[Target]:
    """All lines are only reported: there is no target."""
    by_name = {row.what: row for row in rows}
    lines = list(_most_of_all(by_name, ASYNC_ORDERS, (), is_promised=False))
    return lines + _each_way(rows, by_name)


def _most_of_all(
    by_name: Mapping[str, Row],
    orders: Sequence[Order],
    client_orders: Sequence[ClientOrder],
    *,
    is_promised: bool,
) -> Iterator[Target]:
    """The best load of each of Gantry's groups: the pair first, single sends before batches."""
    for name, batch, body in product(OURS, (1, BATCH), (BODY, KIB)):
        ways = [each.text for each in orders if each.batch == batch and each.body == body]
        if batch == 1:
            ways += [each.text for each in client_orders if each.body == body]
        if ways:
            what = f"batches of {batch}" if batch > 1 else "single sends"
            title = f"{name}: the most {what} of {size_text(body)}"
            is_judged = is_promised and name == GANTRY and batch == 1
            wanted = f">= {SYNC_RATIO_MIN:g}x Java's" if is_judged else ""
            yield _most(title, wanted, name, ways, by_name)


def _most(
    title: str, wanted: str, name: str, ways: Sequence[str], by_name: Mapping[str, Row]
) -> Target:
    lacking = [way for way in ways if not _has(by_name, way, JAVA) or not _has(by_name, way, name)]
    if lacking:  # a missing load may be the best one of either side
        return Target(title, wanted, f"not measured: {', '.join(lacking)}", _kept(0.0, wanted))
    cpu = {side: [(_cpu(by_name, way, side), way) for way in ways] for side in (JAVA, name)}
    rate = {side: max(by_name[way].figures[side].median for way in ways) for side in (JAVA, name)}
    (java_us, java_way), (our_us, our_way) = min(cpu[JAVA]), min(cpu[name])
    by_cpu, by_clock = java_us / our_us, rate[name] / rate[JAVA]
    measured = (
        f"{by_cpu:.2f}x by CPU time ({by_clock:.2f}x by the clock): {our_us:.1f} us, {our_way};"
        f" Java {java_us:.1f} us, {java_way}"
    )
    return Target(title, wanted, measured, _kept(min(by_cpu, by_clock), wanted))


def _kept(ratio: float, wanted: str) -> bool | None:
    return ratio >= SYNC_RATIO_MIN if wanted else None


def _has(by_name: Mapping[str, Row], way: str, side: str) -> bool:
    rows = (by_name.get(way), by_name.get(way + CPU_SUFFIX))
    return all(row is not None and side in row.figures for row in rows)


def _cpu(by_name: Mapping[str, Row], way: str, side: str) -> float:
    return by_name[way + CPU_SUFFIX].figures[side].median


def _each_way(rows: Sequence[Row], by_name: Mapping[str, Row]) -> list[Target]:
    return [
        _told(name, row, cpu)
        for row in rows
        if (cpu := by_name.get(row.what + CPU_SUFFIX)) is not None
        for name in row.figures
        if name in OURS
    ]


def _told(name: str, rate: Row, cpu: Row) -> Target:
    by_cpu, by_clock = cpu.ratio(JAVA, name), rate.ratio(name, JAVA)
    measured = "not measured"
    if by_cpu is not None and by_clock is not None:
        measured = f"{by_cpu:.2f}x by CPU time ({by_clock:.2f}x by the clock)"
    if (most := cpu.ratio(JAVA, FLOOR)) is not None:
        measured += f"; {FLOOR}: {most:.2f}x"
    return Target(f"{name}: {rate.what}", "", measured, None)
