"""Histories of whole groups: nothing that was acknowledged or read is ever lost.

GANTRY_GROUPS says how many there are, GANTRY_FIRST_SEED where they begin: without it every commit
tries others. A seed that fails is shown with its story; make sim SEED=n tells it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from multiprocessing import get_context

import pytest

from gantrymq.sim.first_seed import first_seed
from gantrymq.sim.group.group_history import Failure, digest, run
from gantrymq.sim.group.group_minima import lacking, rows

HISTORIES = int(os.environ.get("GANTRY_GROUPS", "150"))
FIRST_SEED = first_seed()
PROCESSES = 2
SHOWN_MAX = 3


def history(seed: int) -> tuple[Counter[str], str]:
    """What happened, and the story where it went wrong."""
    try:
        return run(seed), ""
    except Failure as failure:
        return Counter(), str(failure)


@pytest.mark.timeout(0)
def test_nothing_that_was_promised_is_lost() -> None:
    tally: Counter[str] = Counter()
    failures: list[str] = []
    with get_context("fork").Pool(PROCESSES) as pool:
        seeds = range(FIRST_SEED, FIRST_SEED + HISTORIES)
        for counts, failure in pool.imap_unordered(history, seeds, chunksize=4):
            tally += counts
            failures += [failure] if failure else []
    sys.stdout.write(f"\n{HISTORIES:9} histories from seed {FIRST_SEED}\n{rows(tally)}")
    assert not failures, f"{len(failures)} fail\n" + "\n\n".join(sorted(failures)[:SHOWN_MAX])
    assert not lacking(tally, HISTORIES)


@pytest.mark.timeout(0)
def test_a_seed_tells_the_same_story_again_whatever_hashes_are() -> None:
    program = (
        "import sys\nimport conftest\nfrom gantrymq.sim.group.group_history import digest\n"
        "print(digest(int(sys.argv[1])))"
    )
    seed = FIRST_SEED
    told = {digest(seed)}
    for hash_seed, pure in (("1", "0"), ("2", "1")):
        done = subprocess.run(
            [sys.executable, "-c", program, str(seed)],
            env={
                **os.environ,
                "GANTRY_PURE": pure,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout.strip())
    assert len(told) == 1
