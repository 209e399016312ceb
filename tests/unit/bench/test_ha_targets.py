"""Targets of replication: every group of ours is held against Java's pair, by its CPU time."""

from __future__ import annotations

from bench.broker_sends import CPU_SUFFIX
from bench.ha import LAG_SUFFIX, MASTER_SUFFIX, Order
from bench.ha_floor import FLOOR
from bench.ha_groups import ELECTED
from bench.ha_targets import judge_sync
from bench.report import Figure, Row
from bench.servers import GANTRY, JAVA

WHAT = Order(64).text
THREE = ELECTED.format(3)


def row(what: str, unit: str, java: float, pair: float, three: float) -> Row:
    figures = {JAVA: java, GANTRY: pair, THREE: three}
    return Row(what, unit, {name: Figure.of([seen]) for name, seen in figures.items()})


def test_cpu_time_decides_and_the_clock_is_told() -> None:
    rows = [
        row(WHAT, "messages/s", 10.0, 20.0, 40.0),
        row(WHAT + CPU_SUFFIX, "us", 90.0, 30.0, 31.0),
        row(WHAT + CPU_SUFFIX + MASTER_SUFFIX, "us", 90.0, 90.0, 90.0),
        row(WHAT + LAG_SUFFIX, "ms", 1.0, 1.0, 1.0),
    ]
    assert [(each.what, each.measured, each.verdict) for each in judge_sync(rows)] == [
        (f"{GANTRY}: {WHAT}", "3.00x by CPU time (2.00x by the clock)", "pass"),
        (f"{THREE}: {WHAT}", "2.90x by CPU time (4.00x by the clock)", "FAIL"),
    ]


def test_what_any_pair_could_have_had_is_told_and_not_judged() -> None:
    rows = [
        row(WHAT, "messages/s", 10.0, 20.0, 40.0),
        row(WHAT + CPU_SUFFIX, "us", 90.0, 45.0, 90.0),
    ]
    rows[1].figures[FLOOR] = Figure.of([20.0])
    assert [(each.what, each.measured) for each in judge_sync(rows)] == [
        (f"{GANTRY}: {WHAT}", f"2.00x by CPU time (2.00x by the clock); {FLOOR}: 4.50x"),
        (f"{THREE}: {WHAT}", f"1.00x by CPU time (4.00x by the clock); {FLOOR}: 4.50x"),
    ]


def test_orders_are_told_apart() -> None:
    assert Order(1).text == "sends of 1 KiB, 1 client"
    assert Order(16, batch=16).text == "batches of 16 of 1 KiB, 16 clients"
    assert Order(16, body=16384).text == "sends of 16 KiB, 16 clients"
    assert Order(1, 64, body=128).text == "sends of 128 bytes, 1 client, 64 under way"
