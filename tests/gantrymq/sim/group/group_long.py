"""Histories of groups for as long as one likes: make sim-long.

    python -m gantrymq.sim.group.group_long SECONDS [FIRST_SEED]

Ends with what happened how often, how many steps an hour that was, and 1 where a history failed
or something happened too rarely. The first stories that fail are told.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from multiprocessing import get_context
from typing import Final

from gantrymq.sim.group.group_history import Failure, run
from gantrymq.sim.group.group_minima import lacking, rows

PROCESSES: Final = 2
SHOWN_MAX: Final = 3
# Small, so that the end is near when the time is over.
BATCH: Final = 40


def history(seed: int) -> tuple[Counter[str], str]:
    try:
        return run(seed), ""
    except Failure as failure:
        return Counter(), str(failure)


def main() -> None:
    seconds = float(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000_000
    began = time.monotonic()
    tally: Counter[str] = Counter()
    failures = histories = 0
    with get_context("fork").Pool(PROCESSES) as pool:
        while time.monotonic() < began + seconds:
            batch = range(first + histories, first + histories + BATCH)
            for counts, failure in pool.imap_unordered(history, batch):
                tally += counts
                failures += bool(failure)
                if failure and failures <= SHOWN_MAX:
                    sys.stdout.write(f"{failure}\n\n")
            histories += len(batch)
    hours = (time.monotonic() - began) / 3600
    sys.stdout.write(
        f"{histories:9} histories from seed {first}, {failures} failed\n{rows(tally)}"
        f"{tally['steps'] / hours / 1e6:9.1f} million steps an hour\n"
    )
    missing = lacking(tally, histories)
    sys.stdout.write("".join(f"too rare: {each}\n" for each in missing))
    sys.exit(bool(failures or missing))


if __name__ == "__main__":
    main()
