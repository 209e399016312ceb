"""What this installation is: its version, and whether its hot modules run compiled."""

from __future__ import annotations

import importlib.metadata
import platform

from gantrymq.app.speedups import implementation


def describe() -> str:
    """One line for `gantry --version`."""
    version = importlib.metadata.version("gantrymq")
    python = platform.python_version()
    return f"gantry {version} (Python {python}, hot modules {implementation()})"
