"""Tests the commit that the images' labels name."""

from __future__ import annotations

import subprocess
from pathlib import Path

from images.build import revision


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_revision_is_the_commit_and_says_when_files_differ(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("committed")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert revision(tmp_path) == commit
    (tmp_path / "file").write_text("changed")
    assert revision(tmp_path) == f"{commit}-dirty"


def test_sources_without_a_repository_have_no_revision(tmp_path: Path) -> None:
    assert revision(tmp_path) == "unknown"
