"""Installs what the Dockerfiles copy: Gantry, its dependencies, and those of the operator.

Everything is made on the host, by the same Python version as in the images, so the images need
neither pip nor a compiler. Each folder is reduced: debug symbols, sources of compiled modules and
tests are removed, and bytecode is added, which a read-only root file system could not store later.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from py_compile import PycInvalidationMode

from cluster.shell import ClusterError, run
from images import sources

PYTHON_VERSION = (3, 11)  # the version of the base images: compiled modules load in no other
INSTALLED_AT = "/opt/gantry/lib"  # inside the image; tracebacks name this folder
UNNEEDED_FILES = ("*.c", "*.h", "*.pxd", "*.pxi", "*.pyx", "*.pyi")
UNNEEDED_FOLDERS = ("tests", "__pycache__")
# The folders in which wheels bring libraries along. These were edited after linking and do not load
# once they are stripped.
BUNDLED = ".libs"
SOURCE_ONLY = "pyspark"  # published as an archive of Python and jars; there is nothing to compile
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
PACKAGE_FOLDERS_MAX = 9  # three for each build, for the last three builds
INSTALL_TIMEOUT_S = 1800.0  # for a slow network: 25 MB, and half a gigabyte for Spark


def check_python() -> None:
    """Refuse a host whose Python cannot install packages for the images."""
    if sys.version_info[:2] != PYTHON_VERSION or sys.platform != "linux":
        wanted, here = ".".join(map(str, PYTHON_VERSION)), sys.version.split()[0]
        raise ClusterError(
            f"the images have Python {wanted} on Linux, and their packages are installed by the "
            f"host's Python, which is {here} on {sys.platform}: make the environment with "
            f"`make clean && make PYTHON=python{wanted} images`, on Linux"
        )


def make_context(snapshot: Path, context: Path, cache: Path) -> None:
    """Create the build context of all Dockerfiles from a snapshot of the checkout."""
    locked = snapshot / "requirements"
    of_all = (locked / "run.txt").read_text()
    of_operator = extra_requirements((locked / "operator.txt").read_text(), of_all)
    context.mkdir()
    shutil.copytree(installed(of_all, cache), context / "dependencies")
    shutil.copytree(installed(of_operator, cache), context / "operator-dependencies")
    install_gantry(snapshot, context / "gantry")
    shutil.copy2(snapshot / "LICENSE", context)
    launcher = shutil.copy2(snapshot / "images" / "base" / "launcher.py", context)
    Path(launcher).chmod(0o755)


def requirements(locked: str) -> dict[str, str]:
    """{pinned requirement: its text with hashes} of a locked requirements file."""
    blocks = re.split(r"^(?=[A-Za-z])", locked, flags=re.MULTILINE)[1:]
    return {block.split(" ", 1)[0].strip(): block for block in blocks}


def extra_requirements(locked: str, base: str) -> str:
    """The part of `locked` that an installation of `base` does not have."""
    all_of_them, present = requirements(locked), requirements(base)
    missing = present.keys() - all_of_them.keys()
    if missing:
        raise ClusterError(
            f"the locked requirements disagree about {', '.join(sorted(missing))}: run `make lock`"
        )
    return "".join(text for pin, text in all_of_them.items() if pin not in present)


def installed(locked: str, cache: Path) -> Path:
    """The folder of the cache with these packages; they are installed the first time."""
    recipe = Path(__file__).read_text()  # the result depends on what this module removes
    key = hashlib.sha256(f"{sys.version}\n{recipe}\n{locked}".encode()).hexdigest()
    target = cache / f"packages-{key[: sources.DIGEST_LENGTH]}"
    if target.exists():
        os.utime(target)  # the folders that were used last are kept
        return target
    unfinished = cache / f"{target.name}.{os.getpid()}"
    listing = cache / f"{unfinished.name}.txt"
    listing.write_text(locked)
    # Every package is named with its hash, so pip must not add others.
    run(
        *(*PIP, "--no-deps", "--require-hashes", "--no-compile"),
        *("--only-binary=:all:", f"--no-binary={SOURCE_ONLY}"),
        *("--target", unfinished, "--requirement", listing),
        timeout_s=INSTALL_TIMEOUT_S,
    )
    listing.unlink()
    slim(unfinished)
    add_bytecode(unfinished)
    unfinished.rename(target)
    return target


def remove_unused(cache: Path) -> None:
    """Remove the package folders of earlier locks and recipes."""
    by_age = sorted(cache.glob("packages-*"), key=lambda folder: folder.stat().st_mtime)
    for folder in by_age[:-PACKAGE_FOLDERS_MAX]:
        shutil.rmtree(folder)


def install_gantry(snapshot: Path, target: Path) -> None:
    """Install Gantry's wheel, and add the modules that the checkout has compiled."""
    wheels = target.parent / "wheel"
    run(
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels),
        folder=snapshot,
        environment={**os.environ, "GANTRY_BUILD": "pure"},
    )
    wheel = next(wheels.glob("*.whl"))
    run(*PIP, "--no-deps", "--no-index", "--no-compile", "--target", target, wheel)
    shutil.rmtree(wheels)
    for library, inside in sources.libraries(snapshot).items():
        shutil.copy2(library, target / inside)
    slim(target)
    add_bytecode(target)


def slim(folder: Path) -> None:
    """Remove the files that no program needs at run time; most of them are debug symbols."""
    shutil.rmtree(folder / "bin", ignore_errors=True)  # scripts that name the host's Python
    for name in UNNEEDED_FOLDERS:
        for unneeded in list(folder.rglob(name)):
            shutil.rmtree(unneeded)
    for pattern in UNNEEDED_FILES:
        for path in list(folder.rglob(pattern)):
            path.unlink()
    libraries = [
        library
        for library in (*folder.rglob("*.so"), *folder.rglob("*.so.*"))
        if not library.parent.name.endswith(BUNDLED)
    ]
    if libraries:
        run("strip", "--strip-unneeded", *libraries)


def add_bytecode(folder: Path) -> None:
    """Compile to bytecode that is never checked against its source, since the image does not
    change."""
    made = compileall.compile_dir(
        folder,
        quiet=1,
        stripdir=str(folder),
        prependdir=INSTALLED_AT,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if not made:
        raise ClusterError(f"some modules below {folder} do not compile; see the messages above")
    for path in list(folder.rglob("*.pyc")):
        if _has_library(path.parent.parent, path.name.split(".")[0]):
            path.unlink()


def _has_library(folder: Path, module: str) -> bool:
    """Whether a compiled library is imported in place of the module's bytecode."""
    found: Iterable[Path] = folder.glob(f"{module}.*.so")
    return any(found)
