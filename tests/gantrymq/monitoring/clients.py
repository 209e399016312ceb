"""Runs the clients of traffic.py as processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gantrymq.interop.child import Child

TESTS: Final = Path(__file__).parents[2]


@contextmanager
def client(role: str, name_servers: str, folder: Path, *arguments: str) -> Iterator[Child]:
    """Run the clients of a role of traffic.py until the block ends."""
    child = Child(
        f"traffic {role}",
        [sys.executable, "-m", "gantrymq.monitoring.traffic", role, name_servers, *arguments],
        folder,
        {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
    )
    try:
        yield child
    finally:
        child.stop()


def run_client(role: str, name_servers: str, folder: Path, seconds: float) -> None:
    """Run the clients of a role of traffic.py that end by themselves."""
    with client(role, name_servers, folder) as child:
        child.wait(seconds)
