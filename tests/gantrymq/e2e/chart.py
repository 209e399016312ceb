"""The Helm chart, and the program that renders it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cluster.settings import layout_from_environment
from gantrymq.e2e.kubectl import environment

CHART: Final = Path(__file__).resolve().parents[3] / "charts" / "gantry"
KUBERNETES: Final = "1.36.0"

Json = dict[str, Any]  # Any: values of YAML


@cache
def helm() -> str:
    """The helm of the test cluster's binaries, or of the PATH."""
    built = sorted(layout_from_environment().cache.glob("bin/*/helm"))
    found = shutil.which("helm", path=environment()["PATH"]) or (str(built[0]) if built else None)
    if found is None:
        pytest.fail("helm is missing: make cluster-bits builds it, or install helm", pytrace=False)
    return found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Helm with these arguments. The caller checks the exit code."""
    return subprocess.run([helm(), *words], capture_output=True, text=True, check=False)


def rendered(
    *settings: str, release: str = "gantry", namespace: str = "gantry-system"
) -> list[Json]:
    """All objects that the chart renders with these values."""
    chosen = [word for each in settings for word in ("--set", each)]
    done = run("template", release, str(CHART), "-n", namespace,
               "--kube-version", KUBERNETES, *chosen)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def only(objects: list[Json], kind: str, name: str = "") -> Json:
    """The one object of that kind, and of that name where one is given."""
    [found] = [
        each
        for each in objects
        if each["kind"] == kind and (not name or each["metadata"]["name"] == name)
    ]
    return found
