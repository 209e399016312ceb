"""Tests which packages each image gets, and which of their files are left out."""

from __future__ import annotations

import importlib.util
import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.shell import ClusterError
from images import payload
from images.components import CHECKOUT

LOCKED = """\
aiohttp==3.14.5 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\
    --hash=sha256:cc
"""
KOPF = "kopf==1.45.2 \\\n    --hash=sha256:dd\n"


def test_requirements_keep_their_hashes_and_markers() -> None:
    found = payload.requirements(LOCKED)
    assert list(found) == ["aiohttp==3.14.5", "cffi==2.1.1"]
    assert "".join(found.values()) == LOCKED


def test_the_operator_gets_only_what_the_base_lacks() -> None:
    assert payload.extra_requirements(LOCKED + KOPF, LOCKED) == KOPF


def test_two_versions_of_one_package_are_refused() -> None:
    other = LOCKED.replace("3.14.5", "3.14.6")
    with pytest.raises(ClusterError, match=r"aiohttp==3\.14\.5.*make lock"):
        payload.extra_requirements(other + KOPF, LOCKED)


def test_the_locked_files_agree_and_the_operator_adds_kopf() -> None:
    locked = CHECKOUT / "requirements"
    extra = payload.extra_requirements(
        (locked / "operator.txt").read_text(), (locked / "run.txt").read_text()
    )
    assert "kopf==" in extra
    assert "aiohttp==" not in extra
    assert "--hash=sha256:" in extra


def test_slimming_removes_tests_scripts_and_sources_of_libraries(tmp_path: Path) -> None:
    for name in ("bin/tool", "package/tests/test_a.py", "package/fast.c", "package/kept.py",
                 "package/bin/kept.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    payload.slim(tmp_path)
    kept = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(map(str, kept)) == ["package/bin/kept.py", "package/kept.py"]


def test_slimming_keeps_libraries_that_load(tmp_path: Path) -> None:
    found = importlib.util.find_spec("lz4._version")
    assert found is not None
    library = tmp_path / Path(str(found.origin)).name
    shutil.copy(str(found.origin), library)
    size = library.stat().st_size
    payload.slim(tmp_path)
    assert library.stat().st_size < size
    command = [sys.executable, "-c", "import _version; print(_version.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(library), done.stderr


def test_slimming_leaves_libraries_that_a_wheel_brought_along(tmp_path: Path) -> None:
    """The dynamic linker refuses numpy's libraries once they are stripped."""
    found = importlib.util.find_spec("lz4._version")
    assert found is not None
    (tmp_path / "lz4.libs").mkdir()
    library = tmp_path / "lz4.libs" / "library.so"
    shutil.copy(str(found.origin), library)
    size = library.stat().st_size
    payload.slim(tmp_path)
    assert library.stat().st_size == size


def test_bytecode_is_used_although_its_source_changed(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("print('from bytecode')\n")
    payload.add_bytecode(tmp_path)
    (tmp_path / "module.py").write_text("raise SystemExit('the source was compiled again')\n")
    command = [sys.executable, "-m", "module"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "from bytecode\n", done.stderr


def test_bytecode_names_its_place_in_the_image(tmp_path: Path) -> None:
    (tmp_path / "module.py").touch()
    payload.add_bytecode(tmp_path)
    (bytecode,) = tmp_path.rglob("*.pyc")
    header_bytes = 16
    code = marshal.loads(bytecode.read_bytes()[header_bytes:])  # noqa: S302 - made above
    assert code.co_filename == f"{payload.INSTALLED_AT}/module.py"


def test_a_module_with_a_library_needs_no_bytecode(tmp_path: Path) -> None:
    (tmp_path / "fast.py").touch()
    (tmp_path / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    payload.add_bytecode(tmp_path)
    assert list(tmp_path.rglob("*.pyc")) == []


def test_invalid_python_source_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    with pytest.raises(ClusterError, match="do not compile"):
        payload.add_bytecode(tmp_path)


def test_the_package_folders_used_last_are_kept(tmp_path: Path) -> None:
    for age in range(payload.PACKAGE_FOLDERS_MAX + 2):
        folder = tmp_path / f"packages-{age}"
        folder.mkdir()
        os.utime(folder, (1000 - age, 1000 - age))
    payload.remove_unused(tmp_path)
    kept = sorted(folder.name for folder in tmp_path.iterdir())
    assert kept == [f"packages-{age}" for age in range(payload.PACKAGE_FOLDERS_MAX)]
