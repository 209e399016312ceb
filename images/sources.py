"""Takes a snapshot of the sources of the images, and names it by a digest.

The images are built from the snapshot, not from the checkout, so the digest in their tag describes
their content exactly, even if files are edited during the build.
"""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path

from cluster.shell import ClusterError
from tools.speedups import hot_sources

DIGEST_LENGTH = 12  # hexadecimal digits: enough that two builds of one version never collide
SINGLE_FILES = (
    *("pyproject.toml", "hatch_build.py", "tools/speedups.py", "README.md", "LICENSE"),
    *("requirements/run.txt", "requirements/operator.txt", "requirements/spark.txt"),
)
LEFT_OUT = shutil.ignore_patterns("__pycache__")


def take_snapshot(checkout: Path, snapshot: Path) -> None:
    """Copy the sources with their compiled modules; refuse one that is older than its source."""
    for name in SINGLE_FILES:
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(checkout / name, snapshot / name)
    for package in packages(checkout):
        shutil.copytree(checkout / package, snapshot / package, ignore=LEFT_OUT)
        # the library that all compiled modules share
        for library in (checkout / package).parent.glob("*.so"):
            shutil.copy2(library, (snapshot / package).parent)
    shutil.copytree(checkout / "images", snapshot / "images", ignore=LEFT_OUT)
    stale = stale_modules(snapshot)
    if stale:
        raise ClusterError(
            f"{len(stale)} modules are not compiled, or older than their source, such as "
            f"{stale[0]}: run `make .venv/ready`"
        )


def packages(checkout: Path) -> list[Path]:
    """The package folders of the wheel, relative to the checkout."""
    settings = tomllib.loads((checkout / "pyproject.toml").read_text())
    names: list[str] = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return [Path(name) for name in names]


def libraries(snapshot: Path) -> dict[Path, Path]:
    """{compiled library: its place inside an installation}."""
    roots = [snapshot / package.parent for package in packages(snapshot)]
    return {path: path.relative_to(root) for root in roots for path in root.rglob("*.so")}


def stale_modules(snapshot: Path) -> list[Path]:
    """The modules that must be compiled and whose library is missing or older than the source."""
    stale = []
    for source in hot_sources(snapshot):
        path = snapshot / source
        found = list(path.parent.glob(f"{path.stem}.*.so"))
        if not found or found[0].stat().st_mtime < path.stat().st_mtime:
            stale.append(source)
    return stale


def version(snapshot: Path) -> str:
    project = tomllib.loads((snapshot / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def digest(snapshot: Path, *facts: str) -> str:
    """Names the content of the snapshot together with facts such as the base image's digest."""
    total = hashlib.sha256()
    for fact in facts:
        total.update(f"{fact}\n".encode())
    for path in sorted(_files(snapshot)):
        name, content = path.relative_to(snapshot).as_posix(), path.read_bytes()
        total.update(f"{name}\n{len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:DIGEST_LENGTH]


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
