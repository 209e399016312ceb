"""Compiles the hot modules into the wheel, as a build hook that pip calls through hatchling.

GANTRY_BUILD chooses what is built:

    unset      compiled; pure, with a warning, if no C compiler is installed
    compiled   compiled; the build fails if no C compiler is installed
    pure       pure, and mypy is not downloaded

A compiler that fails always fails the build: a user with a compiler expects the fast modules. pip
shows warnings of a build only with -v, so `gantry --version` and the first log line of every server
tell which modules run compiled.
"""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any  # hatchling's own interface uses dict[str, Any]

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType

MODES = ("", "compiled", "pure")
INSTALL_A_COMPILER = (
    "install a C compiler and Python's headers (Debian, Ubuntu: apt-get install gcc python3-dev;"
    " Fedora: dnf install gcc python3-devel)"
)
COST = "servers and clients need about ten times the CPU for each message"
PURE_WARNING = (
    "gantrymq: WARNING: there is no C compiler, so this wheel has no compiled modules, and"
    f" {COST}. To change that, {INSTALL_A_COMPILER} and install gantrymq again."
    " GANTRY_BUILD=pure silences this warning."
)
FAILED_ADVICE = (
    "gantrymq: ERROR: the compiled modules could not be built; the cause is above. Either"
    f" {INSTALL_A_COMPILER} and try again, or set GANTRY_BUILD=pure to install without compiled"
    f" modules: then {COST}."
)


class SpeedupsHook(BuildHookInterface):  # type: ignore[type-arg]  # its config type is not ours
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """The packages that the build needs in addition to the build system."""
        if not self._compiles():
            return []
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text())
        requires: list[str] = project["tool"]["gantry"]["speedups"]["requires"]
        return requires

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled modules to the wheel."""
        if version == "editable":
            return
        if not self._compiles():
            if self.target_name == "wheel" and not _mode():
                self.app.display_warning(PURE_WARNING)
            return
        speedups = self._speedups()
        self._folder = tempfile.TemporaryDirectory(prefix="gantry-build-")
        try:
            made = speedups.compile_into(Path(self.root), Path(self._folder.name))
        except speedups.SpeedupsError as error:
            sys.exit(f"{error}\n\n{FAILED_ADVICE}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for built, inside in made.items():
            build_data["force_include"][str(built)] = inside.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder in which the modules were compiled."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()

    def _compiles(self) -> bool:
        mode = _mode()
        if self.target_name != "wheel" or mode == "pure":
            return False
        return mode == "compiled" or bool(self._speedups().has_compiler())

    def _speedups(self) -> ModuleType:
        sys.path.insert(0, self.root)
        try:
            from tools import speedups  # noqa: PLC0415 - lies in the source tree, not on the path
        finally:
            sys.path.remove(self.root)
        return speedups


def _mode() -> str:
    mode = os.environ.get("GANTRY_BUILD", "")
    if mode not in MODES:
        sys.exit(f"GANTRY_BUILD={mode} is unknown: set it to compiled or pure, or leave it unset")
    return mode
