"""Prints the unit test files that name a compiled module: those that are run uncompiled, too.

A module that has no compiled twin is the same source in both runs, so its tests say nothing new.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.speedups import ROOT, hot_modules


def imported(source: str) -> Iterator[str]:
    """Every module or name that the source imports, with its full path."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def twin_tests(root: Path = ROOT) -> list[Path]:
    """The test files that import a compiled module themselves."""
    hot = hot_modules(root).keys()
    files = sorted((root / "tests" / "unit").rglob("test_*.py"))
    return [path for path in files if hot & set(imported(path.read_text()))]


def main() -> None:
    print(*(path.relative_to(ROOT) for path in twin_tests()), sep="\n")


if __name__ == "__main__":
    main()
