"""Crash tests of brokers and stores: kills, power cuts, broken disks. CRASH=0 leaves them out.

They need root, /dev/fuse and the right to mount, and fail where these are missing. A failure tells
its seed; CRASH_SEED repeats one, or tries another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.crash.nursery import Nursery
from gantrymq.left_out import leave_out
from gantrymq.powercut.mount import Mount

HERE = Path(__file__).parent
PARTITION_BYTES = 256 << 20  # for a log and its reserve, which is a hundredth
SMALL_BYTES = 8 << 20
BUDGET_SECONDS = 300  # a test, on a machine that does other things as well
FIGURES = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.timeout(BUDGET_SECONDS))
    if os.environ.get("CRASH") == "0":
        what = "CRASH=0: {} tests of kills, power cuts and broken disks left out"
        leave_out(config, items, ours, what)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def seed() -> int:
    """What every chance of the run comes from."""
    return int(os.environ.get("CRASH_SEED", "1"))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines to be shown at the end of the run: how much was tried."""
    return request.config.stash.setdefault(FIGURES, [])


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def store_folder(tmp_path: Path) -> Iterator[Path]:
    """On the real disk, and gone afterwards: a store's reserve alone takes 64 MiB."""
    folder = tmp_path / "store"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """A folder whose power can be cut."""
    folder = tmp_path / "mount"
    folder.mkdir()
    try:
        mount = Mount(folder)
    except RuntimeError as error:
        pytest.fail(f"{error}. CRASH=0 leaves these tests out.", pytrace=False)
    with mount:
        mount.resize(PARTITION_BYTES)
        yield mount


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few MiB in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "gantry-small", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.fail(
            f"{mounted.stderr.strip()}; this test needs the right to mount a tmpfs (a container: "
            "--privileged). CRASH=0 leaves these tests out.",
            pytrace=False,
        )
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
