"""Describes this installation: its version, and whether its hot modules run compiled."""

from __future__ import annotations

import importlib.metadata
import platform

from gantrymq.runtime.speedups import PURE_ADVICE, implementation


def describe() -> str:
    """One line: the version, Python's version, and the implementation of the hot modules."""
    version = importlib.metadata.version("gantrymq")
    python = platform.python_version()
    return f"gantry {version} (Python {python}, hot modules {implementation()})"


def told() -> str:
    """The output of `gantry --version`: that line, and advice if modules are not compiled."""
    line = describe()
    return f"{line}\n" if implementation() == "compiled" else f"{line}\nWarning: {PURE_ADVICE}.\n"
