"""Chooses the first seed of a run of histories: other histories for every commit, the same for one.

GANTRY_FIRST_SEED overrides it. A checkout without git begins at 0.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HASH_DIGITS = 8  # of the commit's hash: room for four thousand million seeds


def first_seed() -> int:
    """Where the histories of this run begin."""
    if said := os.environ.get("GANTRY_FIRST_SEED"):
        return int(said)
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return int(done.stdout[:HASH_DIGITS], 16) if done.returncode == 0 else 0
