"""Tests the targets of the broker: which figures have one, and when they are met."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.broker.broker_sends import CPU_SUFFIX
from bench.broker.broker_targets import judge
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Figure, Row

SYNC = "Java client, JSON: sync, 64 threads"
PROGRAM = "load program, binary: 64 connections x 1"
PUSH = "Java client, binary: backlog by push"
PAUSE = "send at half of Java's rate: longest pause"
SHARE = "send, 64 wait for the disk, 64 connections x 1, share of the rate without"


def row(what: str, unit: str, ours: float, theirs: float | None = None) -> Row:
    figures = {GANTRY: Figure.of([ours])}
    if theirs is not None:
        figures[JAVA] = Figure.of([theirs])
    return Row(what, unit, figures)


def verdicts(rows: Sequence[Row]) -> dict[str, str]:
    return {target.what: target.verdict for target in judge(rows)}


def test_javas_client_is_compared_by_the_clock_and_the_broker_by_cpu_time() -> None:
    rows = [row(SYNC, "messages/s", 25.0, 10.0), row(SYNC + CPU_SUFFIX, "us", 5.1, 40.0)]
    assert verdicts(rows) == {SYNC: "pass", SYNC + CPU_SUFFIX: "FAIL"}


def test_cpu_time_decides_with_the_load_program() -> None:
    rows = [row(PROGRAM, "messages/s", 10.0, 10.0), row(PROGRAM + CPU_SUFFIX, "us", 8.0, 40.0)]
    assert verdicts(rows) == {f"messages a second of one core, {PROGRAM}": "pass"}


def test_a_backlog_is_read_as_fast_for_a_quarter_of_the_cpu_time() -> None:
    rows = [row(PUSH, "messages/s", 9.9, 10.0), row(PUSH + CPU_SUFFIX, "us", 10.0, 40.0)]
    assert verdicts(rows) == {PUSH: "FAIL", PUSH + CPU_SUFFIX: "pass"}


@pytest.mark.parametrize(
    ("what", "unit", "most"),
    [
        (PAUSE, "ms", 50.0),
        ("RSS, idle", "MiB", 80.0),
        ("RSS, after 2 GiB", "MiB", 150.0),
        ("start, empty", "s", 1.0),
        ("start, queues: 10000", "s", 3.0),
        ("start, killed with 2 GiB", "s", 5.0),
    ],
)
def test_sizes_and_times_have_a_limit(what: str, unit: str, most: float) -> None:
    assert verdicts([row(what, unit, most)]) == {what: "pass"}
    assert verdicts([row(what, unit, most + 0.1)]) == {what: "FAIL"}


def test_waiting_for_the_disk_must_leave_half_of_the_rate() -> None:
    assert verdicts([row(SHARE, "%", 50.0)]) == {SHARE: "pass"}
    assert verdicts([row(SHARE, "%", 49.0)]) == {SHARE: "FAIL"}


def test_target_without_javas_latency_is_not_met() -> None:
    what = "send at half of Java's rate: p99"
    assert verdicts([row(what, "ms", 1.0, 3.0)]) == {what: "pass"}
    assert verdicts([row(what, "ms", 1.0)]) == {what: "FAIL"}


def test_other_rows_have_no_target() -> None:
    others = ["start, empty, CPU", "PSS, idle", f"{SYNC}: p50", f"{PROGRAM}: p99"]
    assert not judge([row(what, "s", 1e6, 1.0) for what in others])
