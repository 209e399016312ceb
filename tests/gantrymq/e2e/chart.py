"""The Helm chart, and the program that renders it."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from cluster.settings import layout_from_environment
from gantrymq.e2e.kubectl import environment

CHART: Final = Path(__file__).resolve().parents[3] / "charts" / "gantry"
KUBERNETES: Final = "1.36.0"


@cache
def helm() -> str:
    """The helm of the test cluster's binaries, or of the PATH."""
    built = sorted(layout_from_environment().cache.glob("bin/*/helm"))
    found = shutil.which("helm", path=environment()["PATH"]) or (str(built[0]) if built else None)
    if found is None:
        pytest.fail("helm is missing: make cluster-bits builds it, or install helm", pytrace=False)
    return found
