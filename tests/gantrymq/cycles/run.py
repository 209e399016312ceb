"""The program within the enclosure: `... FOLDER CYCLES SEED`.

It prints a line for each cycle and each audit, and leaves FOLDER/outcome.json. An audit that finds
faults keeps the records of its group's clients; else they are removed, for they are large.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gantrymq.cycles.clients.audit import audit
from gantrymq.cycles.clients.ledger import Ledger
from gantrymq.cycles.clients.load import CONSUMERS, Load
from gantrymq.cycles.clients.told import Told
from gantrymq.cycles.cycle import carry_out, wait_until_at_work
from gantrymq.cycles.group import QUEUES, TOPIC, CycleGroup, Hosts
from gantrymq.cycles.hosts import enclosure
from gantrymq.cycles.outcome import Cycle, Outcome
from gantrymq.cycles.plan import KINDS, Step, forms_of, rounds


def run(folder: Path, count: int, seed: int) -> None:
    hosts = Hosts()
    outcome = Outcome()
    for turn, steps in enumerate(rounds(count, seed, forms_of(KINDS)), 1):
        place = folder / f"group-{turn}"
        place.mkdir()
        try:
            _carry_out(place, hosts, steps, outcome)
        finally:
            outcome.save(folder / "outcome.json")
        if not outcome.audits[-1].faults:
            for records in place.glob("*.records"):
                records.unlink()


def _carry_out(place: Path, hosts: Hosts, steps: list[Step], outcome: Outcome) -> None:
    began = time.monotonic()
    group = CycleGroup(place, hosts)
    group.start()
    load = Load(place, hosts.clients, group.names, TOPIC)
    ledger = Ledger(QUEUES, CONSUMERS)
    told = Told(load, ledger)
    wait_until_at_work(group, told)
    _say(f"a group at work after {time.monotonic() - began:.1f} s")
    for step in steps:
        outcome.cycles.append(cycle := carry_out(step, group, told))
        _say(line(cycle))
    load.stop_sending()
    told.take()
    began = time.monotonic()
    outcome.audits.append(found := audit(group, ledger, told))
    load.stop()
    group.stop()
    said = f"{found.acknowledged} acknowledged, {found.stored} stored, {found.log_bytes} bytes"
    _say(f"audit in {time.monotonic() - began:.1f} s: {said}, {len(found.faults)} faults")
    for fault in found.faults:
        _say(f"  {fault}")


def line(cycle: Cycle) -> str:
    """One cycle, to be read as it happens."""
    moved = "stays" if cycle.moved is None else f"moved {cycle.moved:.2f}"
    gaps = " ".join(f"{name} {seconds:.2f}" for name, seconds in cycle.gaps.items())
    told = f"failed {cycle.failed} other {cycle.other} well {cycle.well:.1f}"
    about = f"{cycle.number:3} {cycle.kind} ({cycle.hold:g} s) at {cycle.rate}/s: {moved}"
    return f"{about}, gap {cycle.gap:.2f} ({gaps}), {told}"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the maker of the enclosure reads it


if __name__ == "__main__":
    _, given_folder, given_count, given_seed = sys.argv
    enclosure.enter()
    run(Path(given_folder), int(given_count), int(given_seed))
