"""Tests that histories detect stores that are broken on purpose."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gantrymq.sim.store.broken_stores import BREAKS, WHOLE

PROGRAM = """
import sys
import conftest
from gantrymq.sim.store.broken_stores import SEEDS, is_noticed
print(is_noticed(sys.argv[1], SEEDS[:int(sys.argv[2])]))
"""


def noticed(name: str, histories: int) -> str:
    """Run in a process of its own, on the `.py` of the compiled modules: see broken_stores.py."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, str(histories)],
        env={
            **os.environ,
            "GANTRY_PURE": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", sorted(BREAKS.keys() - {WHOLE}))
def test_histories_detect_each_broken_store(name: str) -> None:
    assert noticed(name, 700) == "True"


def test_unbroken_store_passes_the_same_number_of_histories() -> None:
    assert noticed(WHOLE, 30) == "False"
