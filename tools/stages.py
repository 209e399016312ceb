"""Runs make verbs one after the other and says how long each took.

`python -m tools.stages lint types units` stops at the first that fails; the table of times is
printed either way, and kept where GANTRY_STAGES_FILE says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def run(verbs: list[str]) -> int:
    times: list[tuple[str, float, int]] = []
    for verb in verbs:
        print(f"\n=== {verb}", flush=True)
        began = time.monotonic()
        code = subprocess.run(["make", "--no-print-directory", verb], check=False).returncode
        times.append((verb, time.monotonic() - began, code))
        if code != 0:
            break
    report = "\n".join(
        f"  {verb:<12} {seconds:8.1f} s  {'ok' if code == 0 else f'FAILED ({code})'}"
        for verb, seconds, code in times
    )
    missing = verbs[len(times) :]
    print(f"\nstages\n{report}" + (f"\n  not run: {' '.join(missing)}" if missing else ""))
    kept = os.environ.get("GANTRY_STAGES_FILE")
    if kept:
        Path(kept).write_text(report + "\n")
    return times[-1][2] if times else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
