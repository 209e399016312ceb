"""Lists the stages of a test run: what each proves, and what it needs of the machine.

A stage is a verb of the Makefile. A machine that lacks something is told what, and which variable
leaves the stage out permanently.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

GO_FOLDER: Final = "/usr/local/go/bin"  # where Go's own installer puts it, and no PATH names


def _command(name: str, package: str) -> Callable[[], str | None]:
    def lacks() -> str | None:
        if shutil.which(name) or shutil.which(name, path=GO_FOLDER):
            return None
        return f"{name} (Debian: apt-get install {package})"

    return lacks


def _root() -> str | None:
    return None if os.geteuid() == 0 else "root"


def _fuse() -> str | None:
    return None if Path("/dev/fuse").exists() else "/dev/fuse (a container: --device /dev/fuse)"


def _prometheus() -> str | None:
    if all(map(shutil.which, ("prometheus", "promtool"))) or shutil.which("apt-get"):
        return None
    return "prometheus and promtool, or apt-get to fetch Debian's package"


def _debian() -> str | None:
    is_debian = Path("/etc/debian_version").exists()
    return None if is_debian else "Debian or a derivative, whose packages the test cluster installs"


JAVA: Final = (
    _command("javac", "openjdk-17-jdk-headless"),
    _command("mvn", "maven"),
)
REAL: Final = (*JAVA, _command("npm", "npm"), _command("go", "golang-go"))


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One stage."""

    about: str
    needs: tuple[Callable[[], str | None], ...] = ()
    switch: str = ""
    """NAME=0 in the environment leaves it out; empty where nothing does."""


CATALOGUE: Final[Mapping[str, Entry]] = {
    "lint": Entry("ruff, formatting, import directions, house rules"),
    "types": Entry("mypy --strict over code and tests"),
    "units-servers": Entry("unit and property tests of both servers, on the compiled modules"),
    "units-others": Entry("unit and property tests of the other packages, on the compiled modules"),
    "units-pure": Entry("unit tests of the compiled modules on their Python sources"),
    "cluster": Entry(
        "the product on a real Kubernetes of three nodes: install, failover, topics, bad input",
        (_root, _debian, _command("go", "golang-go"), *JAVA),
        "CLUSTER_TESTS",
    ),
    "sim-short": Entry("a few histories of crashing stores and of groups with faults"),
    "sim": Entry("histories of crashing stores and of groups with faults, new ones a commit"),
    "mutants": Entry("mutated stores and groups, whose defects the histories must find"),
    "examples": Entry("every example, twice, against a real server"),
    "build-short": Entry("a pure wheel, and the README's first minute with it"),
    "build": Entry("compiled and pure wheels, from the tree and from the sdist, by pip"),
    "crash": Entry(
        "kills, power cuts and broken disks under real brokers and stores", (_root, _fuse), "CRASH"
    ),
    "attack": Entry(
        "attacks on live servers, beside legitimate clients, probes and a meter of memory",
        switch="ATTACK",
    ),
    "cycles": Entry(
        "failovers of real processes in networks of their own", (_root, *JAVA), "GANTRY_CYCLES"
    ),
    "monitoring": Entry(
        "dashboards and alerts of the chart, at a real Prometheus and live brokers",
        (_prometheus, _root, _fuse),
        "MONITORING",
    ),
    "fuzz-short": Entry("seconds of fuzzing for every decoder"),
    "test-spark": Entry(
        "the data source, its sink and jobs in real Spark sessions, with two versions of Spark",
        (_command("java", "openjdk-17-jre-headless"),),
        "SPARK",
    ),
    "interop-clients": Entry(
        "RocketMQ's clients, mqadmin and proxy, and Gantry's client, at both brokers",
        REAL,
        "INTEROP",
    ),
    "interop-servers": Entry(
        "RocketMQ's servers and Gantry's: replication, stores, TLS, accounts", REAL, "INTEROP"
    ),
}


def about(verb: str) -> str:
    """What a stage proves, in a few words."""
    return CATALOGUE[verb].about if verb in CATALOGUE else ""


def missing_tools(verb: str) -> str | None:
    """Why a stage cannot run here, and what to do; None where it can. Unknown stages can."""
    entry = CATALOGUE.get(verb, Entry(""))
    if entry.switch and os.environ.get(entry.switch) == "0":
        return None  # its own tests say that they were left out
    missing = [lack for need in entry.needs if (lack := need()) is not None]
    if not missing:
        return None
    return f"it needs {', '.join(missing)}; {entry.switch}=0 leaves it out"
