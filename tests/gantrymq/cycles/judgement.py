"""Figures of many cycles: distributions by kind of fault, and the bounds they are held against.

What must hold is asserted always: nothing acknowledged is lost, and no place is given twice. Times
are asserted of many cycles alone, where one that another process of the machine spoilt is one of
many; of a few they are held against a bound that only a broken failover misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gantrymq.cycles.clients.load import CONSUMERS, PRODUCERS, RATE_MIN
from gantrymq.cycles.hosts.faults import FAULTS, Kind
from gantrymq.cycles.outcome import Cycle

MOVED_MIN: Final = 0.9
"""The part of faults of masters after which another one is master."""
FEW: Final = 50
"""Below so many cycles times are held against `BROKEN_SECONDS`."""
BROKEN_SECONDS: Final = 60.0

_DEATH: Final = (Kind.MASTER_KILLED,)
_POD: Final = (Kind.POD_KILLED, Kind.LEASE_TOUCHED, Kind.EMPTY_TWIN)
_SLOW: Final = (Kind.LEASE_SLOW,)
_NODE: Final = (Kind.MASTER_CUT, Kind.MASTER_STOPPED)
_FOLLOWER: Final = (
    Kind.FOLLOWER_KILLED,
    Kind.FOLLOWER_CUT,
    Kind.PEERS_PARTED,
    Kind.MASTER_MUTED,
    Kind.FOREIGN_DISK,
)
_LEASE: Final = (Kind.LEASE_CUT, Kind.LEASE_PARTED, Kind.SLICE_DELETED)
_FULL: Final = (Kind.MASTER_FULL,)
_WISHED: Final = (Kind.SWITCHED, Kind.MASTER_TERMINATED)
_SET_BACK: Final = (Kind.LEASE_RESTORED,)


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit for a figure of the cycles with some kinds of faults."""

    name: str
    kinds: tuple[Kind, ...]
    what: Callable[[Cycle], float]
    part: float
    """Which of the sorted figures is compared: 0.5 is the median, 1 the largest."""
    limit: float


def _gap(cycle: Cycle) -> float:
    return cycle.gap


def _producer_gap(cycle: Cycle) -> float:
    return max(cycle.gaps[name] for name in PRODUCERS)


def _consumer_gap(cycle: Cycle) -> float:
    return max(cycle.gaps[name] for name in CONSUMERS)


def _own_consumer_gap(cycle: Cycle) -> float:
    return cycle.gaps["python-push"]


def _java_consumer_gap(cycle: Cycle) -> float:
    return cycle.gaps["java-push"]


def _failed(cycle: Cycle) -> float:
    return sum(cycle.failed.values())


BOUNDS: Final = (
    Bound("process death, p50", _DEATH, _gap, 0.5, 3.0),
    Bound("process death, p99", _DEATH, _gap, 0.99, 8.0),
    Bound("pod loss, p50", _POD, _gap, 0.5, 6.0),
    Bound("pod loss, p99", _POD, _gap, 0.99, 8.0),
    Bound("pod loss, slow lease store", _SLOW, _gap, 1.0, 10.0),
    Bound("node loss", _NODE, _gap, 1.0, 15.0),
    Bound("follower lost", _FOLLOWER, _gap, 1.0, 2.5),
    Bound("lease store away", _LEASE, _gap, 1.0, 2.5),
    Bound("Lease set back", _SET_BACK, _gap, 1.0, 2.5),
    Bound("full disk", _FULL, _gap, 1.0, 8.0),
    Bound("switchover, stop in order", _WISHED, _gap, 1.0, 1.0),
    Bound("switchover, failed sends", (Kind.SWITCHED,), _failed, 1.0, 0.0),
    # A client of Java may lose its pulls with a connection that breaks, and asks again after 30 s.
    Bound("process death, our consumer", (*_DEATH, *_POD), _own_consumer_gap, 1.0, 8.0),
    Bound("process death, Java's consumer", (*_DEATH, *_POD), _java_consumer_gap, 0.75, 8.0),
    Bound("process death, consumers", (*_DEATH, *_POD, *_SLOW), _consumer_gap, 1.0, 35.0),
    Bound("switchover, consumers", (Kind.SWITCHED,), _consumer_gap, 1.0, 8.0),
    Bound("stop in order, consumers", (Kind.MASTER_TERMINATED,), _consumer_gap, 1.0, 35.0),
    Bound("follower lost, each producer", _FOLLOWER, _producer_gap, 1.0, 2.5),
    Bound("other faults, consumers", (*_FOLLOWER, *_LEASE, *_FULL), _consumer_gap, 1.0, 35.0),
    Bound("node loss, consumers", _NODE, _consumer_gap, 1.0, 35.0),
)


def part_of(figures: Iterable[float], part: float) -> float:
    """The figure that so many of them do not exceed."""
    ordered = sorted(figures)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def misses(cycles: Sequence[Cycle]) -> Iterator[str]:
    """Which bounds do not hold."""
    for bound in BOUNDS:
        names = {kind.name for kind in bound.kinds}
        figures = [bound.what(each) for each in cycles if each.kind in names]
        if figures and (found := part_of(figures, bound.part)) > bound.limit:
            yield f"{bound.name}: {found:.2f}, where {bound.limit:g} is the bound"
    yield from _missed_moves(cycles)
    slow = [each for each in cycles if each.rate < RATE_MIN]
    if slow:
        lowest = min(each.rate for each in slow)
        what = f"{len(slow)} of {len(cycles)} faults struck below {RATE_MIN} acknowledged/s"
        yield f"{what}; the lowest {lowest}"


def _missed_moves(cycles: Sequence[Cycle]) -> Iterator[str]:
    struck = [each for each in cycles if FAULTS[Kind[each.kind]].moves_role]
    moved = [each for each in struck if each.moved is not None]
    if struck and len(moved) < MOVED_MIN * len(struck):
        yield f"the role moved in {len(moved)} of {len(struck)} faults of a master"
    for each in cycles:
        if each.moved is not None and each not in struck:
            name = Kind[each.kind].value
            yield f"cycle {each.number}, {name}: the role moved, and no master fell"


def broken(cycles: Sequence[Cycle]) -> list[str]:
    """What no noise of a machine explains."""
    return [
        f"cycle {each.number}, {Kind[each.kind].value}: nothing acknowledged for {each.gap:.1f} s"
        for each in cycles
        if each.gap > BROKEN_SECONDS
    ]


# ------------------------------------------------------------------ the table

_COLUMNS: Final[Mapping[str, int]] = {
    "fault": 37, "n": 4, "moved": 7, "rate": 6, "p50": 7, "p95": 7, "max": 7,
    **{name: len(name) + 2 for name in (*PRODUCERS, *CONSUMERS)}, "failed": 8, "other": 7,
}  # fmt: skip


def table(cycles: Sequence[Cycle]) -> list[str]:
    """A line for each kind; the lowest rate, p50, p95 and max of the gap over all producers, the
    largest gap of each producer and consumer, sends that failed, and answers of other statuses."""
    by_kind = {kind: [each for each in cycles if each.kind == kind.name] for kind in Kind}
    rows = [_row(kind, some) for kind, some in by_kind.items() if some]
    return [_line(each) for each in (_COLUMNS, *rows)]


def _row(kind: Kind, cycles: Sequence[Cycle]) -> list[str]:
    gaps = [each.gap for each in cycles]
    moved = sum(each.moved is not None for each in cycles)
    largest = [max(each.gaps[name] for each in cycles) for name in (*PRODUCERS, *CONSUMERS)]
    seconds = [part_of(gaps, 0.5), part_of(gaps, 0.95), max(gaps), *largest]
    counts = [sum(map(_failed, cycles)), sum(sum(each.other.values()) for each in cycles)]
    return [
        kind.value,
        str(len(cycles)),
        str(moved),
        str(min(each.rate for each in cycles)),
        *(f"{each:.2f}" for each in seconds),
        *(f"{each:.0f}" for each in counts),
    ]


def _line(cells: Iterable[str]) -> str:
    first, *others = zip(cells, _COLUMNS.values(), strict=True)
    return first[0].ljust(first[1]) + "".join(cell.rjust(width) for cell, width in others)
