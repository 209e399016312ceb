"""Reads the output that an example documents, and the output of a real run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

RUN_SECONDS: Final = 120.0


def said(example: Path) -> list[str]:
    """The lines that an example documents as its output: the last part of its docstring."""
    text = ast.get_docstring(ast.parse(example.read_text())) or ""
    _, found, lines = text.partition("\nPrints:\n")
    return [line.removeprefix("    ") for line in lines.splitlines()] if found else []


def printed(
    example: Path, environment: dict[str, str], *, runs: int = 2, seconds: float = RUN_SECONDS
) -> list[list[str]]:
    """The printed lines of so many runs, one after the other."""
    outputs = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, example],
            env=environment,
            cwd=environment["HOME"],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append(done.stdout.splitlines())
    return outputs
