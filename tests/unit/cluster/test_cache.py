"""Tests how much the cache of binaries and base images keeps."""

from __future__ import annotations

import os
from pathlib import Path

from cluster import cache


def test_the_newest_three_stay_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for age, name in enumerate(["a.tar", "b.tar", "c.tar", "d.tar", "e.txt"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache.prune(tmp_path, "*.tar")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "b.tar", "c.tar", "e.txt"]


def test_folders_are_removed_with_their_content(tmp_path: Path) -> None:
    for age, name in enumerate("abcd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kubectl").touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache.prune(tmp_path, "*")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
