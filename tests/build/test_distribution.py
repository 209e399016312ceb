"""Tests the distribution as users get it: wheels and sdist in clean environments."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# Compiling takes two minutes on an idle machine.
pytestmark = [pytest.mark.build, pytest.mark.timeout(1800)]
ADVICE = "apt-get install gcc python3-dev"


def attempt(
    *command: str | Path, folder: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user whose environment has no settings for builds."""
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "GANTRY_BUILD": "", **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    """The output of a command that must succeed."""
    done = attempt(*command, folder=folder, **environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist unpacked, as pip does it."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        # Before 3.11.4 there are no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - an archive of ours
    return next(folder.iterdir())


@pytest.fixture
def without_compiler(tmp_path: Path) -> str:
    """A PATH without any program."""
    folder = tmp_path / "nothing"
    folder.mkdir()
    return str(folder)


def build_wheel(source: Path, out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The build backend, in the environment of the tests: no packages are fetched."""
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out)
    return attempt(*command, folder=source, **environment)


def libraries(wheel: Path) -> list[str]:
    return [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


def clean_environment(folder: Path) -> Path:
    """The bin folder of a new virtual environment that has pip and nothing else."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin"


def assert_programs_run(programs: Path, folder: Path) -> None:
    assert "listenPort=9876" in run(programs / "gantry", "namesrv", "-p", folder=folder)
    assert "listenPort=9876" in run(programs / "mqnamesrv", "-p", folder=folder)
    assert "listenPort=10911" in run(programs / "mqbroker", "-p", folder=folder)
    assert "updateTopic" in run(programs / "mqadmin", "--help", folder=folder)
    assert (programs / "mqshutdown").exists()
    servers = "import gantrymq.broker.server, gantrymq.namesrv.server"
    run(programs / "python", "-c", servers, folder=folder)


def test_pip_compiles_the_sdist_in_its_own_build_environment(sdist: Path, tmp_path: Path) -> None:
    programs = clean_environment(tmp_path / "environment")
    run(programs / "pip", "install", "-q", sdist, folder=tmp_path)
    version = run(programs / "gantry", "--version", folder=tmp_path)
    assert "hot modules compiled" in version
    assert ADVICE not in version
    assert_programs_run(programs, tmp_path)


def test_without_a_compiler_the_wheel_is_pure_and_every_version_line_says_so(
    source: Path, tmp_path: Path, without_compiler: str
) -> None:
    built = build_wheel(source, tmp_path, PATH=without_compiler)
    assert built.returncode == 0, built.stderr
    assert "WARNING: there is no C compiler" in built.stderr
    assert ADVICE in built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "none-any" in wheel.name
    assert not libraries(wheel)
    programs = clean_environment(tmp_path / "environment")
    locked = ROOT / "requirements" / "run.txt"
    run(programs / "pip", "install", "-q", "--require-hashes", "-r", locked)
    run(programs / "pip", "install", "-q", "--no-deps", wheel)
    version = run(programs / "gantry", "--version", folder=tmp_path)
    assert "hot modules pure" in version
    assert ADVICE in version
    assert_programs_run(programs, tmp_path)


def test_requested_pure_wheel_is_built_without_a_warning(source: Path, tmp_path: Path) -> None:
    built = build_wheel(source, tmp_path, GANTRY_BUILD="pure")
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "none-any" in wheel.name
    assert not libraries(wheel)


@pytest.mark.parametrize("mode", ["", "compiled"])
def test_a_compiler_that_fails_fails_the_build_and_says_what_to_do(
    source: Path, tmp_path: Path, mode: str
) -> None:
    built = build_wheel(source, tmp_path, GANTRY_BUILD=mode, CC="false")
    assert built.returncode != 0
    assert "the C compiler fails" in built.stderr
    assert ADVICE in built.stderr
    assert "GANTRY_BUILD=pure" in built.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_requested_compiled_wheel_fails_without_a_compiler(
    source: Path, tmp_path: Path, without_compiler: str
) -> None:
    built = build_wheel(source, tmp_path, GANTRY_BUILD="compiled", PATH=without_compiler)
    assert built.returncode != 0
    assert "there is no C compiler" in built.stderr


def test_an_unknown_mode_is_refused(source: Path, tmp_path: Path) -> None:
    built = build_wheel(source, tmp_path, GANTRY_BUILD="fast")
    assert built.returncode != 0
    assert "set it to compiled or pure" in built.stderr


def test_the_sdist_holds_no_compiled_library_and_the_licence(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert not [name for name in names if name.endswith((".so", ".c"))]
    assert any(name.endswith("/LICENSE") for name in names)


@pytest.mark.parametrize("mode", ["", "compiled", "pure"])
def test_pure_wheel_is_built_without_build_requirements_of_mypyc(mode: str) -> None:
    asking = "from hatchling.build import *; print(get_requires_for_build_wheel())"
    wanted = run(sys.executable, "-c", asking, GANTRY_BUILD=mode)
    assert ("mypy" in wanted) == (mode != "pure")
