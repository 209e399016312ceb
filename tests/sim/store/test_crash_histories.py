"""Tests thousands of histories of a crashing store: no acknowledged message is lost.

GANTRY_HISTORIES says how many there are, GANTRY_FIRST_SEED where they begin: without it every
commit tries others. A seed that fails is shown, and fails again; python -m
gantrymq.sim.store.store_reduce SEED makes its history short.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from multiprocessing import get_context

import pytest

from gantrymq.sim.first_seed import first_seed
from gantrymq.sim.store.store_history import run
from gantrymq.sim.store.store_script import script_of

HISTORIES = int(os.environ.get("GANTRY_HISTORIES", "3000"))
FIRST_SEED = first_seed()
PROCESSES = 2
PORTION = 50

# A generator that never comes there tests nothing; each happens in far more than one in a thousand.
EXPECTED = (
    "clean starts",
    "clean stops",
    "deleted files of the log",
    "deleted topics",
    "full disks",
    "index marked",
    "lost folders",
    "messages of topics made again",
    "power cuts while running",
    "power cuts while starting",
    "power cuts while stopping",
    "pulls",
    "queues marked",
    "recoveries",
    "refused groups",
    "refused while starting",
    "failed syncs while running",
    "stops that were not clean",
)


def portion(first: int) -> tuple[Counter[str], list[str]]:
    """Run some histories; return what happened, and which failed."""
    tally: Counter[str] = Counter()
    failures: list[str] = []
    for seed in range(first, min(first + PORTION, FIRST_SEED + HISTORIES)):
        try:
            tally += run(script_of(seed))
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    return tally, failures


@pytest.mark.timeout(0)
def test_acknowledged_messages_survive_crashes() -> None:
    tally: Counter[str] = Counter()
    failures: list[str] = []
    with get_context("fork").Pool(PROCESSES) as pool:
        firsts = range(FIRST_SEED, FIRST_SEED + HISTORIES, PORTION)
        for counts, failed in pool.imap_unordered(portion, firsts):
            tally += counts
            failures += failed
    rows = [f"{count:9} {what}\n" for what, count in sorted(tally.items())]
    sys.stdout.write(f"\n{HISTORIES:9} histories from seed {FIRST_SEED}\n" + "".join(rows))
    assert not failures, "\n".join(sorted(failures)[:20])
    if HISTORIES >= 1000:
        assert not [what for what in EXPECTED if not tally[what]]


def test_recovery_does_not_trust_an_unsynced_index_header() -> None:
    """A flush of the index is killed before its last sync; the store recovers; then the power is
    cut."""
    run(script_of(9944))
