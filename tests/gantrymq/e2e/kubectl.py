"""Asks the cluster under test by kubectl, which is what its users have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

Json = dict[str, Any]

POLL_SECONDS: Final = 0.25
COMMAND_SECONDS: Final = 120.0
LOCAL_STATE: Final = Path("/var/lib/gantry-cluster")
"""Where the local test cluster keeps its kubeconfig and its tools."""


_ending: Final[set[str]] = set()
"""Namespaces whose deletion has begun."""


class KubectlError(AssertionError):
    """A command failed; the text has its words."""


def environment() -> dict[str, str]:
    """The environment of every command: KUBECONFIG, and the cluster's own tools first."""
    kubeconfig = os.environ.get("KUBECONFIG") or str(LOCAL_STATE / "kubeconfig")
    path = f"{LOCAL_STATE / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "KUBECONFIG": kubeconfig, "PATH": path}


def missing_cluster() -> str | None:
    """Why there is no cluster to test on, and what to do; None where there is one."""
    known = environment()
    if (
        shutil.which("kubectl", path=known["PATH"]) is None
        or not Path(known["KUBECONFIG"]).exists()
    ):
        return (
            "These tests need a Kubernetes cluster: make cluster-up makes one, or set KUBECONFIG."
        )
    try:
        run("get", "--raw", "/readyz", seconds=10.0)
    except KubectlError as error:
        return f"The API server of {known['KUBECONFIG']} does not answer: {error}"
    return None


def run(*words: str, given: str | None = None, seconds: float = COMMAND_SECONDS) -> str:
    """Run kubectl; what it printed. KubectlError with its words if it fails."""
    return tool("kubectl", *words, given=given, seconds=seconds)


def tool(
    program: str, *words: str, given: str | None = None, seconds: float = COMMAND_SECONDS
) -> str:
    """Run one of the cluster's tools (kubectl, helm)."""
    try:
        done = subprocess.run(
            [program, *words], input=given, capture_output=True, text=True, env=environment(),
            check=False, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise KubectlError(f"{program} {' '.join(words)}: no answer in {seconds:g} s") from None
    if done.returncode != 0:
        raise KubectlError(f"{program} {' '.join(words)}: {done.stderr.strip()}\n{done.stdout}")
    return done.stdout


def wait_until(
    is_true: Callable[[], bool], what: str, seconds: float, why: Callable[[], str] | None = None
) -> float:
    """Ask until it is true; how long that took. The API may be away meanwhile."""
    began = time.monotonic()
    last = ""
    while time.monotonic() - began < seconds:
        try:
            if is_true():
                return time.monotonic() - began
        except KubectlError as error:
            last = f"\nlast error: {error}"
        time.sleep(POLL_SECONDS)
    told = f"\n{why()}" if why else ""
    raise AssertionError(f"not in {seconds:g} s: {what}{last}{told}")


def wait_until_gone(seconds: float) -> None:
    """Wait for the namespaces whose deletion has begun; names those that hang, and their state."""

    def left() -> list[Json]:
        found = json.loads(run("get", "namespaces", "-o", "json"))["items"]
        return [each for each in found if each["metadata"]["name"] in _ending]

    def told() -> str:
        return "\n".join(f"{each['metadata']['name']}: {each['status']}" for each in left())

    wait_until(lambda: not left(), "all namespaces of the tests are gone", seconds, told)


@final
class Namespace:
    """One namespace of a test, in which the restricted Pod Security level holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create(self, level: str = "restricted") -> Namespace:
        labels = {"pod-security.kubernetes.io/enforce": level, "gantrymq.dev/test": "e2e"}
        metadata = {"name": self.name, "labels": labels}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        return self

    def delete(self, seconds: float = 120.0) -> None:
        """Delete it and wait until it is gone."""
        run("delete", "namespace", self.name, "--ignore-not-found", f"--timeout={seconds:g}s",
            seconds=seconds + 10)  # fmt: skip

    def begin_deletion(self) -> None:
        """Delete it; `wait_until_gone` tells when that is done."""
        run("delete", "namespace", self.name, "--ignore-not-found", "--wait=false")
        _ending.add(self.name)

    def run(self, *words: str, given: str | None = None, seconds: float = COMMAND_SECONDS) -> str:
        return run("-n", self.name, *words, given=given, seconds=seconds)

    def apply(self, *objects: Json) -> None:
        """Server-side apply, as users of `kubectl apply` do."""
        whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.run("apply", "--server-side", "--force-conflicts", "-f", "-", given=json.dumps(whole))

    def get(self, kind: str, name: str) -> Json | None:
        """One object, or None."""
        text = self.run("get", kind, name, "-o", "json", "--ignore-not-found")
        found: Json | None = json.loads(text) if text.strip() else None
        return found

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> list[Json]:
        """All objects of a kind with these labels."""
        chosen = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        text = self.run("get", kind, "-o", "json", *(("-l", chosen) if chosen else ()))
        items: list[Json] = json.loads(text)["items"]
        return items

    def patch(self, kind: str, name: str, body: Json, *, subresource: str = "") -> None:
        """A merge patch."""
        more = (f"--subresource={subresource}",) if subresource else ()
        self.run("patch", kind, name, "--type=merge", "-p", json.dumps(body), *more)


def condition(resource: Json | None, type_name: str) -> Json:
    """One condition of a resource; an empty one where it does not exist yet."""
    conditions = ((resource or {}).get("status") or {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == type_name), {})


def is_true(resource: Json | None, type_name: str) -> bool:
    """Whether a condition is True for the newest generation of the resource."""
    if resource is None:
        return False
    found = condition(resource, type_name)
    newest = resource["metadata"].get("generation")
    return found.get("status") == "True" and found.get("observedGeneration", newest) == newest
