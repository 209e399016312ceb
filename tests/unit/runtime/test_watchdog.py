"""Tests that stalls are logged at a bounded rate, counted, and found in unmeasured work."""

from __future__ import annotations

import logging

import pytest

from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.metrics.tables import process
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.logs import Log
from gantrymq.runtime.watchdog import (
    LINES_MAX,
    NOT_RUNNING,
    TICK_SECONDS,
    UNMEASURED,
    Watchdog,
)

LONG = 4 * STALL_SECONDS


class Bench:
    """A watchdog with a virtual clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cpu = 0.0
        self.stalls = StallWatch(self.clock.monotonic)
        self.watchdog = Watchdog(self.stalls, Log("test"), lambda: self.cpu)

    def wait(self, seconds: float, cpu: float = 0.0) -> None:
        """Let the timer run this late."""
        self.clock.advance(TICK_SECONDS + seconds)
        self.cpu += cpu
        self.watchdog.tick()


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    made.watchdog.start()
    return made


def stalled_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "stalled" in each.getMessage()]


async def test_a_timer_in_time_finds_nothing(bench: Bench) -> None:
    bench.wait(STALL_SECONDS / 2, cpu=1.0)

    assert not bench.stalls.counts


async def test_unmeasured_work_is_found(bench: Bench) -> None:
    bench.wait(LONG, cpu=LONG)

    assert dict(bench.stalls.counts) == {UNMEASURED: 1}


async def test_time_without_the_processor_is_distinguished(bench: Bench) -> None:
    bench.wait(LONG, cpu=LONG / 100)

    assert dict(bench.stalls.counts) == {NOT_RUNNING: 1}


async def test_measured_work_is_not_counted_twice(bench: Bench) -> None:
    began = bench.stalls.now()
    bench.clock.advance(LONG)
    bench.stalls.ended(began, "GET_ALL_TOPIC_CONFIG")

    bench.wait(0.0, cpu=LONG)

    assert dict(bench.stalls.counts) == {"GET_ALL_TOPIC_CONFIG": 1}


async def test_a_line_names_the_work_and_its_peer(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        bench.stalls.note("GET_ALL_TOPIC_CONFIG", "10.0.0.1:1", 0.123)

    assert stalled_lines(caplog) == [
        "event loop stalled work=GET_ALL_TOPIC_CONFIG ms=123 peer=10.0.0.1:1"
    ]


async def test_lines_of_one_work_are_bounded_and_others_still_have_theirs(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            bench.stalls.note("HEART_BEAT", "10.0.0.1:1", 0.1)
        bench.stalls.note("replication", "", 0.1)

    lines = stalled_lines(caplog)
    assert sum("HEART_BEAT" in line for line in lines) == LINES_MAX
    assert sum("replication" in line for line in lines) == 1
    assert bench.stalls.counts["HEART_BEAT"] == 100


async def test_metrics_show_stalls_by_work(bench: Bench) -> None:
    bench.stalls.note("HEART_BEAT", "", 0.5)
    bench.stalls.note("HEART_BEAT", "", 0.25)

    shown = {each.family: dict(each.rows) for each in bench.watchdog.samples()}

    assert shown[process.LOOP_STALLS] == {("HEART_BEAT",): 2}
    assert shown[process.LOOP_STALL_SECONDS] == {("HEART_BEAT",): 0.75}


async def test_the_timer_goes_on_until_it_is_stopped() -> None:
    bench = Bench()
    bench.watchdog.start()
    bench.watchdog.stop()
    bench.watchdog.stop()

    assert bench.watchdog._timer is None
