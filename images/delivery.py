"""Puts images on the nodes of the test cluster, if one runs."""

from __future__ import annotations

import subprocess
import sys

from cluster import kind
from cluster.local import lifecycle
from cluster.settings import CHECKOUT, layout_from_environment
from cluster.shell import ClusterError


def load(references: list[str]) -> None:
    """Loads the images; says so where there is no cluster to load them into."""
    if not kind.is_up() and not lifecycle.is_up(layout_from_environment()):
        print("no test cluster runs, so nothing is loaded: make cluster-up, then make images")
        return
    command = [sys.executable, "-m", "cluster", "load", *references]
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode != 0:
        raise ClusterError("the images are built, and could not be loaded: see the messages above")
