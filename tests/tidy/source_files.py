"""Lists and parses the files of the checkout for the checks in this folder."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SOURCE_ROOTS: Final = ("common", "namesrv", "broker", "client", "operator", "spark")


def tracked(*patterns: str) -> list[Path]:
    """Files of the checkout that are, or would be, committed."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    return [ROOT / name for name in listing if name and (ROOT / name).is_file()]


def name(path: Path) -> str:
    """The path relative to the checkout."""
    return str(path.relative_to(ROOT))


PYTHON_FILES: Final = tracked("*.py")
PRODUCT_FILES: Final = [
    path for path in PYTHON_FILES if path.relative_to(ROOT).parts[0] in SOURCE_ROOTS
]


@cache
def text(path: Path) -> str:
    return path.read_text()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


@cache
def functions(path: Path) -> Sequence[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a file."""
    return [
        node
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
