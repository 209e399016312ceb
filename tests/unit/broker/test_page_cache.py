"""The page cache of a store has another name after each mount of its folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gantrymq.broker.page_cache import page_cache_of

CAN_MOUNT = os.geteuid() == 0 and Path("/proc/self/ns/mnt").exists()
REMOUNTS = """
import subprocess, sys
from pathlib import Path
from gantrymq.broker.page_cache import page_cache_of
folder = Path(sys.argv[1])
for _ in range(2):
    subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], check=True)
    print(page_cache_of(folder))
    subprocess.run(["umount", str(folder)], check=True)
"""


def test_it_stays_the_same_while_nothing_is_mounted(tmp_path: Path) -> None:
    assert page_cache_of(tmp_path) == page_cache_of(tmp_path)


def test_folders_of_one_mount_share_it(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    assert page_cache_of(inner) == page_cache_of(tmp_path)


def test_another_mount_has_another_one(tmp_path: Path) -> None:
    assert page_cache_of(Path("/proc")) != page_cache_of(tmp_path)


def test_both_name_the_start_of_the_machine(tmp_path: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert page_cache_of(tmp_path).startswith(f"{boot}/")


@pytest.mark.skipif(not CAN_MOUNT, reason="mounting takes root")
def test_a_folder_that_is_mounted_again_has_another_one(tmp_path: Path) -> None:
    """In a mount namespace of the test's own."""
    command = ["unshare", "--mount", sys.executable, "-c", REMOUNTS, str(tmp_path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert len(set(shown)) == 2, shown
