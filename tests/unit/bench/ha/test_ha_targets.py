"""Tests the targets of replication: the highest throughput of Java's pair and of Gantry's."""

from __future__ import annotations

import pytest

from bench.broker.broker_sends import BATCH, BODY, CPU_SUFFIX
from bench.ha.ha import (
    ASYNC_ORDERS,
    CLIENT_ORDERS,
    KIB,
    LAG_SUFFIX,
    MASTER_SUFFIX,
    SYNC_ORDERS,
    ClientOrder,
    Order,
)
from bench.ha.ha_floor import FLOOR
from bench.ha.ha_groups import COLUMNS, ELECTED
from bench.ha.ha_targets import judge_async, judge_sync
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Figure, Row, Target

WHAT = Order(64).text
THREE = ELECTED.format(3)
WAYS = [order.text for order in (*SYNC_ORDERS, *CLIENT_ORDERS)]


class Measured:
    """Rows of a run in which all loads were alike, except for what is set."""

    def __init__(self, java: float = 90.0, ours: float = 30.0) -> None:
        self.rows: dict[str, Row] = {}
        for way in WAYS:
            self.set(way, JAVA, cpu=java, rate=10.0)
            for name in COLUMNS[1:]:
                self.set(way, name, cpu=ours, rate=30.0)
            self._set(way + CPU_SUFFIX + MASTER_SUFFIX, "us", JAVA, 1.0)
            self._set(way + LAG_SUFFIX, "ms", JAVA, 1.0)

    def set(self, way: str, name: str, *, cpu: float, rate: float) -> None:
        self._set(way, "messages/s", name, rate)
        self._set(way + CPU_SUFFIX, "us", name, cpu)

    def _set(self, what: str, unit: str, name: str, value: float) -> None:
        row = self.rows.setdefault(what, Row(what, unit, {}))
        row.figures[name] = Figure.of([value])

    def judged(self) -> list[Target]:
        return judge_sync(list(self.rows.values()))

    def line(self, what: str) -> Target:
        (found,) = (each for each in self.judged() if each.what == what)
        return found


def single(body: str) -> str:
    return f"{GANTRY}: the most single sends of {body}"


def test_only_single_sends_of_gantrys_pair_have_a_target() -> None:
    judged = {each.what: each.wanted for each in Measured().judged() if each.verdict}
    assert judged == dict.fromkeys([single("128 bytes"), single("1 KiB")], ">= 3x Java's")


@pytest.mark.parametrize(
    ("java", "rate", "verdict"),
    [(90.0, 30.0, "pass"), (89.9, 30.0, "FAIL"), (90.0, 29.9, "FAIL")],
)
def test_target_needs_both_cpu_time_and_the_clock(java: float, rate: float, verdict: str) -> None:
    run = Measured(java=java)
    for way in WAYS:
        run.set(way, GANTRY, cpu=30.0, rate=rate)
    assert run.line(single("1 KiB")).verdict == verdict


@pytest.mark.parametrize(
    ("best", "text"),
    [
        (Order(64, body=BODY).text, single("128 bytes")),
        (ClientOrder("sync", 64, BODY).text, single("128 bytes")),
        (ClientOrder("async", 256, BODY).text, single("128 bytes")),
        (Order(16).text, single("1 KiB")),
        (ClientOrder("async", 256, KIB).text, single("1 KiB")),
        (Order(16, batch=BATCH, body=BODY).text, f"{GANTRY}: the most batches of 16 of 128 bytes"),
        (Order(16, batch=BATCH).text, f"{GANTRY}: the most batches of 16 of 1 KiB"),
    ],
)
def test_best_load_of_each_side_is_named(best: str, text: str) -> None:
    theirs, ours = Measured(), Measured()
    theirs.set(best, JAVA, cpu=60.0, rate=15.0)
    assert theirs.line(text).measured.startswith("2.00x by CPU time (2.00x by the clock): 30.0 us")
    assert theirs.line(text).measured.endswith(f"; Java 60.0 us, {best}")
    ours.set(best, GANTRY, cpu=20.0, rate=40.0)
    line = ours.line(text).measured
    assert line.startswith(f"4.50x by CPU time (4.00x by the clock): 20.0 us, {best}; Java 90.0 us")


def test_best_load_by_the_clock_may_differ() -> None:
    run = Measured()
    run.set(Order(1).text, GANTRY, cpu=20.0, rate=1.0)
    run.set(Order(16).text, GANTRY, cpu=500.0, rate=60.0)
    assert run.line(single("1 KiB")).measured.startswith("4.50x by CPU time (6.00x by the clock)")


@pytest.mark.parametrize("name", [JAVA, GANTRY])
def test_target_with_a_missing_load_is_not_met(name: str) -> None:
    run = Measured()
    del run.rows[WHAT + CPU_SUFFIX].figures[name]
    line = run.line(single("1 KiB"))
    assert (line.measured, line.verdict) == (f"not measured: {WHAT}", "FAIL")
    del run.rows[WHAT]
    assert run.line(single("1 KiB")).verdict == "FAIL"
    assert run.line(single("128 bytes")).verdict == "pass"


def test_each_load_of_each_group_is_reported() -> None:
    run = Measured()
    run.set(WHAT, THREE, cpu=45.0, rate=20.0)
    run.set(WHAT, FLOOR, cpu=20.0, rate=90.0)
    told = [(each.what, each.measured) for each in run.judged() if each.what.endswith(f": {WHAT}")]
    assert told == [
        (f"{name}: {WHAT}", f"{ratios}; {FLOOR}: 4.50x")
        for name, ratios in (
            (GANTRY, "3.00x by CPU time (3.00x by the clock)"),
            (ELECTED.format(2), "3.00x by CPU time (3.00x by the clock)"),
            (THREE, "2.00x by CPU time (2.00x by the clock)"),
        )
    ]


def test_row_with_a_missing_figure_has_no_ratio() -> None:
    run = Measured()
    del run.rows[WHAT + CPU_SUFFIX].figures[JAVA]
    assert run.line(f"{GANTRY}: {WHAT}").measured == "not measured"


def test_async_sends_have_no_target() -> None:
    run = Measured()
    for order in CLIENT_ORDERS:  # these loads were not measured there
        run.set(order.text, JAVA, cpu=1.0, rate=1000.0)
    lines = judge_async(list(run.rows.values()))
    assert {each.verdict for each in lines} == {""}
    assert lines[0].what == single("128 bytes")
    assert lines[0].measured.startswith("3.00x by CPU time (3.00x by the clock)")
    assert all(order in SYNC_ORDERS for order in ASYNC_ORDERS)


def test_loads_have_different_texts() -> None:
    assert Order(1).text == "sends of 1 KiB, 1 client"
    assert Order(16, batch=16).text == "batches of 16 of 1 KiB, 16 clients"
    assert Order(16, body=16384).text == "sends of 16 KiB, 16 clients"
    assert Order(1, 64, body=128).text == "sends of 128 bytes, 1 client, 64 under way"
    assert ClientOrder("sync", 64, 128).text == "Java client: sends of 128 bytes, 64 threads"
    assert ClientOrder("async", 256, 1024).text == "Java client: sends of 1 KiB, 256 under way"
