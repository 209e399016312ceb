"""Runs the measurements and prints what they gave: `python -m bench [--quick] [PART ...]`.

A full run keeps its figures in bench/results; a quick one is for the eye only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # gantrymq.interop

from bench import codec, document, machine, report, routes, store, store_targets, targets
from bench.load import LoadProgram
from bench.servers import GANTRY, JAVA

PARTS = ("codec", "namesrv", *store.PARTS)
DISTURBED_SHARE = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter, noisier, keeps nothing")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; store: its parts; all"
    )
    arguments = parser.parse_args()
    parts = set(arguments.parts or PARTS)
    if "store" in parts:
        parts = parts - {"store"} | set(store.PARTS)
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
    for part in store.PARTS:
        if part in parts:
            _store(part, facts, quick=arguments.quick)
    if not arguments.quick:
        ours = dict.fromkeys(("namesrv", *store.PARTS), (GANTRY, JAVA))
        document.write({"codec": (codec.COMPILED, codec.JAVA)} | ours)
    print(f"took {time.monotonic() - began:.0f} s")


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
        "targets (Java is not warm in a quick run: its ratios flatter us)" if quick else "targets",
        judged,
    )
    facts = facts | _disturbed_by(disturbance)
    if not quick:
        report.keep("namesrv", facts, ceiling + rows, judged)


def _store(part: str, facts: dict[str, str], *, quick: bool) -> None:
    disturbance = machine.Disturbance()
    rows = store.PARTS[part](store.QUICK if quick else store.FULL)
    report.print_rows(part, rows, GANTRY, JAVA)
    judged = store_targets.judge(rows)
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
