"""Runs the measurements and prints their results: `python -m bench [--quick] [PART ...]`.

A full run saves its figures in bench/results; a quick run only prints them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # gantrymq.interop

from bench import document, machine, report, summary, targets
from bench.broker import broker, broker_paces, broker_targets
from bench.client import client, client_targets
from bench.codec import codec
from bench.ha import ha, ha_targets
from bench.load import LoadProgram
from bench.namesrv import routes
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row, Target
from bench.spark import measure as spark
from bench.spark.sessions import KAFKA
from bench.store import store, store_targets

GROUPS = {"store": tuple(store.PARTS), "broker": broker.TOGETHER, "ha": tuple(ha.PARTS)}
PARTS = ("codec", "namesrv", *store.PARTS, *broker.PARTS, "client", *ha.PARTS, "spark")
HA_JUDGES = {"ha-sync": ha_targets.judge_sync, "ha-async": ha_targets.judge_async}
OURS = (GANTRY, JAVA)
COLUMNS = dict.fromkeys(PARTS, OURS) | {
    "codec": (codec.COMPILED, codec.JAVA),
    "spark": (GANTRY, KAFKA),
}
DISTURBED_SHARE = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter, noisier; saves nothing")
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"of {', '.join(PARTS)}; store, broker, ha: their parts; all",
    )
    arguments = parser.parse_args()
    parts = _parts(arguments.parts)
    if unknown := parts - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there is: {', '.join(PARTS)}")
    began = time.monotonic()
    os.sched_setaffinity(0, {machine.LOAD_CORE})
    facts = machine.facts()
    report.print_table("machine", [["fact", ""], *map(list, facts.items())])
    if "codec" in parts:
        _codec(facts, quick=arguments.quick)
    if "namesrv" in parts:
        _name_servers(facts, quick=arguments.quick)
    for part, measure in store.PARTS.items():
        if part in parts:
            pace = store.QUICK if arguments.quick else store.FULL
            _measure(part, partial(measure, pace), store_targets.judge, facts, arguments.quick)
    for part, measure_broker in broker.PARTS.items():
        if part in parts:
            amount = broker_paces.QUICK if arguments.quick else broker_paces.FULL
            run = partial(measure_broker, amount)
            known = facts | dict(broker.FACTS.get(part, {}))
            _measure(part, run, broker_targets.judge, known, arguments.quick)
    _clients_and_groups(parts, facts, quick=arguments.quick)
    if "spark" in parts:
        _spark(facts, quick=arguments.quick)
    if not arguments.quick:
        document.write(COLUMNS)
        summary.write()
    print(f"took {time.monotonic() - began:.0f} s")


def _parts(asked: Sequence[str]) -> set[str]:
    """The parts that the names select, where a name may stand for several; all without names."""
    parts = set(asked or PARTS)
    for group in parts & set(GROUPS):
        parts = parts - {group} | set(GROUPS[group])
    return parts


def _codec(facts: dict[str, str], *, quick: bool) -> None:
    disturbance = machine.Disturbance()
    rows = codec.measure(codec.QUICK if quick else codec.FULL)
    report.print_rows("frames a second of CPU time", rows, codec.COMPILED, codec.JAVA)
    facts = facts | _disturbed_by(disturbance)
    if not quick:
        report.keep("codec", facts, rows)


def _name_servers(facts: dict[str, str], *, quick: bool) -> None:
    pace = routes.QUICK if quick else routes.FULL
    disturbance = machine.Disturbance()
    with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
        folder = Path(name)
        program = LoadProgram(folder)
        ceiling = routes.measure_ceiling(program, folder, pace)
        report.print_rows("the load program alone", ceiling, GANTRY, JAVA)
        rows = routes.measure_idle()
        report.print_rows("name server, idle", rows, GANTRY, JAVA)
        for world in routes.worlds()[: pace.worlds]:
            measured = routes.measure_world(world, program, pace)
            report.print_rows("name server", measured, GANTRY, JAVA)
            rows += measured
    judged = targets.judge(rows)
    report.print_targets(
        "targets (Java is cold in a quick run: ratios favour Gantry)" if quick else "targets",
        judged,
    )
    facts = facts | _disturbed_by(disturbance)
    if not quick:
        report.keep("namesrv", facts, ceiling + rows, judged)


def _clients_and_groups(parts: set[str], facts: dict[str, str], *, quick: bool) -> None:
    if "client" in parts:
        amount = broker_paces.QUICK if quick else broker_paces.FULL
        run = partial(client.measure_clients, amount)
        _measure("client", run, client_targets.judge, facts, quick)
    for part, measure_groups in ha.PARTS.items():
        if part in parts:
            amount = broker_paces.QUICK if quick else broker_paces.FULL
            known = facts | {"servers_and_load": "all brokers on one core, the load on another"}
            run = partial(measure_groups, amount)
            _measure(part, run, HA_JUDGES[part], known, quick)


def _spark(facts: dict[str, str], *, quick: bool) -> None:
    disturbance = machine.Disturbance()
    rows = spark.measure(spark.QUICK if quick else spark.FULL)
    report.print_rows("spark", rows, GANTRY, KAFKA)
    facts = facts | {"servers_and_load": "on all cores together"} | spark.versions()
    facts = facts | _disturbed_by(disturbance)
    if not quick:
        report.keep("spark", facts, rows)


def _measure(
    part: str,
    measure: Callable[[], list[Row]],
    judge: Callable[[Sequence[Row]], list[Target]],
    facts: dict[str, str],
    quick: bool,
) -> None:
    disturbance = machine.Disturbance()
    rows = measure()
    report.print_rows(part, rows, GANTRY, JAVA)
    judged = judge(rows)
    if judged:
        report.print_targets("targets", judged)
    facts = facts | _disturbed_by(disturbance)
    if not quick:
        report.keep(part, facts, rows, judged)


def _disturbed_by(disturbance: machine.Disturbance) -> dict[str, str]:
    share = disturbance.share()
    if share > DISTURBED_SHARE:
        print(f"other programs took {share:.0%} of the machine: measure again when it is quiet\n")
    return {"taken_by_others": f"{share:.0%} of the machine"}


if __name__ == "__main__":
    main()
