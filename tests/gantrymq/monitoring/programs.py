"""Provides Prometheus and promtool, from the PATH or from Debian's package.

The package is unpacked into `<cache>/monitoring/prometheus-<key>/` (built beside its name, then
renamed) and not installed: that would start a service.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, final

import pytest

PACKAGE: Final = "prometheus"
PROGRAMS: Final = ("prometheus", "promtool")
FETCH_SECONDS: Final = 300.0


@final
@dataclass(frozen=True, slots=True)
class Programs:
    """The paths of the two programs."""

    prometheus: str
    promtool: str


@cache
def programs() -> Programs:
    """Both programs, fetched if they are missing. Fails the test if they cannot be fetched."""
    found = [shutil.which(name) for name in PROGRAMS]
    if all(found):
        return Programs(str(found[0]), str(found[1]))
    folder = cache_folder() / f"prometheus-{platform.machine()}"
    if not folder.is_dir():
        _fetch(folder)
    return Programs(*(str(folder / name) for name in PROGRAMS))


def cache_folder() -> Path:
    """The folder that keeps fetched programs between runs."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gantrymq"
    return Path(os.environ.get("GANTRY_CACHE") or home) / "monitoring"


def _fetch(target: Path) -> None:
    if shutil.which("apt-get") is None:
        pytest.fail("prometheus and promtool are missing: install Prometheus", pytrace=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".prometheus-", dir=target.parent) as scratch:
        folder = Path(scratch)
        if not _download(folder):
            _run(folder, "apt-get", "update", "-qq")
            if not _download(folder):
                pytest.fail("apt-get download prometheus failed", pytrace=False)
        (archive,) = folder.glob("*.deb")
        _run(folder, "dpkg-deb", "--extract", archive.name, "unpacked")
        built = folder / "built"
        built.mkdir()
        for name in PROGRAMS:
            shutil.move(folder / "unpacked" / "usr" / "bin" / name, built / name)
        if not target.is_dir():  # another run was first: its copy is as good
            built.rename(target)


def _download(folder: Path) -> bool:
    done = subprocess.run(
        ["apt-get", "download", "-qq", PACKAGE],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=FETCH_SECONDS,
    )
    return done.returncode == 0


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=FETCH_SECONDS, capture_output=True)
