"""Prints the figures that tests measure, and keeps them as lines of JSON.

GANTRY_E2E_FIGURES names the file; build/e2e-figures.jsonl of the checkout unless set.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final, final

import pytest

DEFAULT: Final = Path(__file__).resolve().parents[3] / "build" / "e2e-figures.jsonl"


@final
class Figures:
    """The figures of one test."""

    def __init__(self, test: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._test = test

    def keep(self, text: str, **values: Any) -> None:
        """Show the text, and keep the values."""
        with self._capsys.disabled():
            sys.stdout.write(f"\n{text}\n")
            sys.stdout.flush()
        path = Path(os.environ.get("GANTRY_E2E_FIGURES") or DEFAULT)
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"test": self._test, "at": int(time.time()), **values}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
