"""Tests that the newest PySpark is installed once for a locked version, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import newest_spark


def test_existing_installation_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tmp_path / "locked.txt"
    locked.write_text("pyspark==1\n")
    asked: list[Path] = []

    def installs(of: Path, target: Path) -> None:
        asked.append(of)
        (target / "pyspark").mkdir(parents=True)

    monkeypatch.setattr(newest_spark, "install", installs)
    first = newest_spark.installation(locked, tmp_path)
    assert newest_spark.installation(locked, tmp_path) == first
    assert (first / "pyspark").is_dir()
    assert asked == [locked]
    locked.write_text("pyspark==2\n")
    second = newest_spark.installation(locked, tmp_path)
    assert second != first
    assert list(second.parent.iterdir()) == [second], "the older one takes half a GB"


def test_nothing_is_left_when_pip_fails(tmp_path: Path) -> None:
    locked = tmp_path / "locked.txt"
    locked.write_text("not a requirement @@\n")
    with pytest.raises(subprocess.CalledProcessError):
        newest_spark.installation(locked, tmp_path)
    assert not list((tmp_path / "spark").glob("*"))
