"""Installs the chart with the images of this checkout, and finds the operator's pods."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

from gantrymq.e2e.kubectl import Json, Namespace, condition, tool, wait_until

ROOT: Final = Path(__file__).resolve().parents[3]
CHART: Final = ROOT / "charts" / "gantry"
RELEASE: Final = "gantry"
NAMESPACE: Final = "gantry-system"
INSTALL_SECONDS: Final = 120.0


def build_images(*, spark: bool = False) -> dict[str, str]:
    """Build the images of this checkout and put them on every node; their names by component."""
    done = subprocess.run(
        [sys.executable, "-m", "images", "load"], cwd=ROOT, check=False, capture_output=True,
        text=True, env={**os.environ, "SPARK": "1" if spark else "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(\S+/(\w+):\S+): (?:loaded|every node has it)", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return {component: name for name, component in found}


@final
class Operator:
    """The installed chart."""

    def __init__(self, images: dict[str, str]) -> None:
        self.namespace = Namespace(NAMESPACE)
        self._images = images

    def install(
        self, *settings: str, chart: Path = CHART, values: Mapping[str, Any] | None = None
    ) -> None:
        """`helm upgrade --install`, as a user would do it."""
        prefix, _, tag = self._images["operator"].rpartition(":")
        registry = prefix.rpartition("/")[0]
        # Clients of most tests have no account; a secure cluster names its profile itself.
        chosen = [f"image.registry={registry}", f"image.tag={tag}", "security.profile=open"]
        chosen += settings
        self.namespace.create()
        tool("helm", "upgrade", "--install", RELEASE, str(chart), "--namespace", NAMESPACE,
             # Definitions that stayed from another release, or were applied by hand.
             "--take-ownership", "--wait", f"--timeout={INSTALL_SECONDS:g}s",
             *(word for each in chosen for word in ("--set", each)),
             "--values", "-",
             given=json.dumps(values or {}), seconds=INSTALL_SECONDS + 10)  # fmt: skip

    def uninstall(self) -> None:
        tool("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait")

    def pods(self) -> list[Json]:
        return self.namespace.list("pods", {"app.kubernetes.io/component": "operator"})

    def scale(self, replicas: int) -> None:
        """Stop the operator (0) or start it again, and wait until that is so."""
        self.namespace.run("scale", "deployment", "-l", "app.kubernetes.io/component=operator",
                           f"--replicas={replicas}")  # fmt: skip
        wait_until(lambda: self._ready() == replicas == len(self.pods()), f"{replicas} operators",
                   INSTALL_SECONDS)  # fmt: skip

    def _ready(self) -> int:
        return sum(condition(pod, "Ready").get("status") == "True" for pod in self.pods())
