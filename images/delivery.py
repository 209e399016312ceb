"""Loads images onto the nodes of the test cluster, if a cluster runs."""

from __future__ import annotations

import subprocess
import sys

from cluster import kind
from cluster.local import lifecycle
from cluster.settings import CHECKOUT, layout_from_environment
from cluster.shell import ClusterError


def load(references: list[str]) -> None:
    """Load the images; print a message if there is no cluster."""
    if not kind.is_up() and not lifecycle.is_up(layout_from_environment()):
        print("no test cluster runs, so nothing is loaded: make cluster-up, then make images")
        return
    command = [sys.executable, "-m", "cluster", "load", *references]
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode != 0:
        raise ClusterError("the images are built, and could not be loaded: see the messages above")
