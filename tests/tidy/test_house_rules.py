"""The house rules that a program can check: sizes, names, namespace traps, forbidden words."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE_ROOTS = ("common", "namesrv", "broker", "client", "operator", "spark")
FUNCTION_LINES_MAX = 45  # the rule is ~40; a few more are no reason to split what belongs together
FILE_LINES_MAX = 600
MODULE_NAMES_REFUSED = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}


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


PYTHON_FILES = tracked("*.py")
PRODUCT_FILES = [path for path in PYTHON_FILES if path.relative_to(ROOT).parts[0] in SOURCE_ROOTS]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name)
def test_a_file_is_not_a_giant(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX


@pytest.mark.parametrize("path", PRODUCT_FILES, ids=name)
def test_functions_are_short(path: Path) -> None:
    long_ones = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in functions(ast.parse(path.read_text()))
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    }
    assert not long_ones


@pytest.mark.parametrize("path", PRODUCT_FILES, ids=name)
def test_a_module_says_what_it_is_and_is_named_for_one_noun(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "a module begins with its docstring"
    assert path.stem not in MODULE_NAMES_REFUSED
    assert path.stem.startswith("_") or path.stem not in sys.stdlib_module_names


CORES = {"acl", "base", "wire", "remoting", "core", "store", "plan", "resources"}
CORE_FILES = [path for path in PRODUCT_FILES if CORES & set(path.relative_to(ROOT).parts)]


@pytest.mark.parametrize("path", CORE_FILES, ids=name)
def test_a_core_calls_no_builtin_that_does_io(path: Path) -> None:
    """What import-linter cannot see: builtins need no import."""
    called = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


@pytest.mark.parametrize(
    ("planted", "statement"),
    [
        ("namesrv/gantrymq/namesrv/core/planted.py", "import time"),
        ("common/gantrymq/wire/planted.py", "from gantrymq.runtime import clock"),
    ],
)
def test_import_linter_finds_a_planted_import(tmp_path: Path, planted: str, statement: str) -> None:
    """The guard can fail: a contract that matches nothing would look just as green."""
    for root in SOURCE_ROOTS:
        shutil.copytree(ROOT / root, tmp_path / root, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / planted).write_text(f"{statement}\n")
    script = "import sys; sys.path[:0] = sys.argv[1:]; import importlinter.cli as cli;"
    roots = [str(tmp_path / root) for root in SOURCE_ROOTS]
    done = subprocess.run(
        [sys.executable, "-c", script + "sys.exit(cli.lint_imports(no_cache=True))", *roots],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "planted" in done.stdout


def test_the_namespace_has_no_init() -> None:
    tops = {ROOT / root for root in SOURCE_ROOTS} | {
        ROOT / root / "gantrymq" for root in SOURCE_ROOTS
    }
    tops |= {ROOT / "tests", ROOT / "tests" / "gantrymq", ROOT / "operator", ROOT / "broker"}
    assert [top for top in tops if (top / "__init__.py").exists()] == []


def test_mypy_checks_every_python_file() -> None:
    """A package list that silently leaves files out would look just as green."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    checked = int(done.stdout.rsplit("in ", 1)[1].split(" ", 1)[0])
    assert checked == len(PYTHON_FILES)


@pytest.mark.parametrize("word", ["/wor" + "k/", "registry.npm" + "js", "files.python" + "hosted"])
def test_nothing_of_the_workplace_is_committed(word: str) -> None:
    telling = [
        name(path)
        for path in tracked("*")
        if path.suffix not in {".gz", ".json"} and word in path.read_text(errors="replace")
    ]
    assert not telling
