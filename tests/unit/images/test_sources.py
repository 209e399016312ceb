"""Tests the snapshot that images are built from: complete, compiled, named by its content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cluster.shell import ClusterError
from images import sources

PYPROJECT = """\
[project]
version = "1.2.3"
[tool.hatch.build.targets.wheel]
packages = ["common/gantrymq"]
[tool.hatch.build]
dev-mode-dirs = ["common"]
[tool.gantry.speedups]
packages = []
modules = ["gantrymq.fast"]
"""
LIBRARY = "common/gantrymq/fast.cpython-311-x86_64-linux-gnu.so"
SHARED_LIBRARY = "common/shared__mypyc.cpython-311-x86_64-linux-gnu.so"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    for name in (*sources.SINGLE_FILES, "common/gantrymq/fast.py", "common/gantrymq/plain.py",
                 "common/gantrymq/__pycache__/plain.pyc", "images/base/Dockerfile",
                 LIBRARY, SHARED_LIBRARY):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    return folder


def test_a_snapshot_has_sources_and_libraries_without_caches(
    checkout: Path, tmp_path: Path
) -> None:
    snapshot = tmp_path / "snapshot"
    sources.take_snapshot(checkout, snapshot)
    assert (snapshot / "images/base/Dockerfile").exists()
    assert (snapshot / "requirements/run.txt").exists()
    assert not list(snapshot.rglob("__pycache__"))
    assert sources.version(snapshot) == "1.2.3"
    installed = sorted(str(inside) for inside in sources.libraries(snapshot).values())
    assert installed == [Path(LIBRARY).relative_to("common").as_posix(), Path(SHARED_LIBRARY).name]


def test_a_library_older_than_its_source_is_refused(checkout: Path, tmp_path: Path) -> None:
    os.utime(checkout / LIBRARY, (1, 1))
    with pytest.raises(ClusterError, match=r"fast\.py: run `make \.venv/ready`"):
        sources.take_snapshot(checkout, tmp_path / "snapshot")


def test_a_module_that_is_not_compiled_is_refused(checkout: Path, tmp_path: Path) -> None:
    (checkout / LIBRARY).unlink()
    with pytest.raises(ClusterError, match="1 modules are not compiled"):
        sources.take_snapshot(checkout, tmp_path / "snapshot")


def test_the_digest_follows_content_names_and_facts_but_not_times(checkout: Path) -> None:
    first = sources.digest(checkout, "base")
    os.utime(checkout / "common/gantrymq/plain.py", (1, 1))
    assert sources.digest(checkout, "base") == first
    assert sources.digest(checkout, "another base") != first
    (checkout / "common/gantrymq/plain.py").rename(checkout / "common/gantrymq/plainer.py")
    second = sources.digest(checkout, "base")
    (checkout / "common/gantrymq/plainer.py").write_text("changed")
    assert len({first, second, sources.digest(checkout, "base")}) == 3
