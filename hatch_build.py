"""Hatch's build hook: compiles the hot modules into the wheel.

GANTRY_BUILD=pure leaves them out, GANTRY_BUILD=compiled insists. Without either a missing C
compiler gives a pure wheel and says so; `gantry --version` tells later which one is live.
"""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any  # hatchling's own interface passes dict[str, Any]

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpeedupsHook(BuildHookInterface):  # type: ignore[type-arg]  # its config type is not ours
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build environment needs beyond the build system."""
        if self.target_name != "wheel" or os.environ.get("GANTRY_BUILD") == "pure":
            return []
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text())
        requires: list[str] = project["tool"]["gantry"]["speedups"]["requires"]
        return requires

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("GANTRY_BUILD", "")
        if self.target_name != "wheel" or version == "editable" or wanted == "pure":
            return
        sys.path.insert(0, self.root)
        from tools.speedups import SpeedupsError, compile_into  # noqa: PLC0415 - lives beside us

        self._folder = tempfile.TemporaryDirectory(prefix="gantry-build-")
        try:
            made = compile_into(Path(self.root), Path(self._folder.name))
        except SpeedupsError as error:
            if wanted == "compiled":
                raise
            print(f"gantrymq: building a pure wheel, without compiled modules: {error}")
            return
        if not made:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for built, inside in made.items():
            build_data["force_include"][str(built)] = inside.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()
