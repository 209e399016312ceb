"""Tests the targets of the store: which figures have one, and when they are met."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Figure, Row, Target
from bench.store.store_targets import judge

APPEND = "append 128 B, 64 queues, groups of 64, CPU a message"
KILLED = "open 2 GiB of 1 KB, Java was killed"


def row(what: str, ours: float, theirs: float | None = None) -> Row:
    figures = {GANTRY: Figure.of([ours])}
    if theirs is not None:
        figures[JAVA] = Figure.of([theirs])
    return Row(what, "", figures)


def verdicts(rows: Sequence[Row]) -> dict[str, str]:
    return {target.what: target.verdict for target in judge(rows)}


def only(rows: Sequence[Row]) -> Target:
    (target,) = judge(rows)
    return target


@pytest.mark.parametrize(("ours", "verdict"), [(1.0, "pass"), (1.1, "FAIL")])
def test_an_append_takes_a_fifth_of_javas_cpu_time(ours: float, verdict: str) -> None:
    target = only([row(APPEND, ours, 5.0)])
    assert target.verdict == verdict
    assert target.measured.startswith(f"{5.0 / ours:.2f}x")


@pytest.mark.parametrize(("ours", "verdict"), [(4.9, "pass"), (5.0, "FAIL")])
def test_a_killed_store_opens_faster_than_javas(ours: float, verdict: str) -> None:
    target = only([row(KILLED, 10.0, 5.0), row(f"{KILLED}, CPU", ours, 5.0)])
    assert target.verdict == verdict
    assert target.measured == f"{ours / 5.0:.2f}x its CPU time (2.00x by the clock)"


def test_target_without_javas_figure_is_not_met() -> None:
    assert only([row(KILLED, 1.0), row(f"{KILLED}, CPU", 1.0)]).verdict == "FAIL"


def test_latencies_are_compared_with_those_at_rest() -> None:
    rows = [
        row("append 1 KB, at rest: p99", 50.0),
        row("append 1 KB, preallocating: p99", 100.0),
        row("append 1 KB, deleting: p99", 101.0),
        row("append 1 KB, deleting: longest", 9000.0),
    ]
    assert verdicts(rows) == {
        "append 1 KB, preallocating: p99": "pass",
        "append 1 KB, deleting: p99": "FAIL",
    }


def test_other_rows_have_no_target() -> None:
    others = ["append 128 B, 64 queues, groups of 64", f"{KILLED}, CPU", "read 1 KB, cached"]
    assert not judge([row(what, 1.0, 1.0) for what in others])
