"""The distribution as users get it: wheel and sdist, compiled and pure, in clean environments."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# Compiling takes two minutes of a machine that has nothing else to do.
pytestmark = [pytest.mark.build, pytest.mark.timeout(1800)]


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        cwd=environment.get("PWD", ROOT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder)
    return next(folder.glob("*.tar.gz"))


def wheel_from(sdist: Path, folder: Path, mode: str) -> Path:
    """A wheel built from the unpacked sdist, as pip would do it."""
    with tarfile.open(sdist) as archive:
        # Before 3.11.4 there are no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder / "source")  # noqa: S202 - an archive of ours
    source = next((folder / "source").iterdir())
    out = folder / "wheel"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out,
        PWD=str(source), GANTRY_BUILD=mode)  # fmt: skip
    return next(out.glob("*.whl"))


def installed_gantry(wheel: Path, folder: Path) -> Path:
    """`gantry` in a fresh environment with the locked packages and this wheel only."""
    environment = folder / "environment"
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "-q", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    run(uv, "pip", "install", "-q", "--python", python, "--require-hashes",
        "-r", ROOT / "requirements" / "run.txt")  # fmt: skip
    run(uv, "pip", "install", "-q", "--python", python, "--no-deps", wheel)
    return environment / "bin" / "gantry"


@pytest.mark.parametrize("mode", ["compiled", "pure"])
def test_a_wheel_from_the_sdist_runs_in_a_clean_environment(
    sdist: Path, tmp_path: Path, mode: str
) -> None:
    wheel = wheel_from(sdist, tmp_path, mode)
    libraries = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    assert bool(libraries) == (mode == "compiled")
    assert ("none-any" in wheel.name) == (mode == "pure")
    gantry = installed_gantry(wheel, tmp_path)
    version = run(gantry, "--version", PWD=str(tmp_path))
    assert mode in version
    assert "listenPort=9876" in run(gantry, "namesrv", "-p", PWD=str(tmp_path))
    assert "listenPort=9876" in run(gantry.with_name("mqnamesrv"), "-p", PWD=str(tmp_path))
    assert "listenPort=10911" in run(gantry.with_name("mqbroker"), "-p", PWD=str(tmp_path))
    assert "updateTopic" in run(gantry.with_name("mqadmin"), "--help", PWD=str(tmp_path))
    assert gantry.with_name("mqshutdown").exists()
    servers = "import gantrymq.broker.server, gantrymq.namesrv.server"
    run(gantry.with_name("python"), "-c", servers, PWD=str(tmp_path))


def test_the_sdist_holds_no_compiled_library_and_the_licence(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert not [name for name in names if name.endswith((".so", ".c"))]
    assert any(name.endswith("/LICENSE") for name in names)


@pytest.mark.parametrize("mode", ["", "compiled", "pure"])
def test_a_pure_wheel_is_built_without_what_compiling_takes(mode: str) -> None:
    asking = "from hatchling.build import *; print(get_requires_for_build_wheel())"
    wanted = run(sys.executable, "-c", asking, GANTRY_BUILD=mode)
    assert ("mypy" in wanted) == (mode != "pure")
