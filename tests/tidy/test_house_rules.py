"""The house rules that a program can check: sizes, names, builtins, the namespace, types."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from typing import Final

from tidy.source_files import (
    PRODUCT_FILES,
    PYTHON_FILES,
    ROOT,
    SOURCE_ROOTS,
    functions,
    name,
    text,
    tracked,
    tree,
)

FUNCTION_LINES_MAX: Final = 45  # the rule is 40; a few more are no reason to tear code apart
FILE_LINES_MAX: Final = 400
MODULES_MAX: Final = 15
MODULE_NAMES_REFUSED: Final = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}

# Folders with more modules, and why. `__init__.py` does not count.
FULL_FOLDERS: Final = {
    "examples": "readers go through the numbered scripts in one list",
}

# Longer files, and why they stay whole.
LONG_FILES: Final = {
    "broker/gantrymq/broker/core/settings.py": "one table, in the order in which brokers show it",
    "broker/gantrymq/store/consumequeue/consumequeue.py": (
        "append and read share one set of positions, and run for each message"
    ),
    "broker/gantrymq/store/engine.py": (
        "the store's entry points, a few lines each; its parts have modules of their own"
    ),
    "common/gantrymq/remoting/session.py": (
        "nearly all methods run for each request, on the same counters and buffers"
    ),
    "common/gantrymq/runtime/net/channel.py": (
        "asyncio's two protocols and the channel know each other; each flush reads most fields"
    ),
}


def test_files_are_short() -> None:
    long = {name(path) for path in PYTHON_FILES if text(path).count("\n") > FILE_LINES_MAX}
    assert long <= set(LONG_FILES), f"files have at most {FILE_LINES_MAX} lines; split by subject"
    assert set(LONG_FILES) <= long, "these are short enough now: take them out of the list"


def test_folders_have_few_modules() -> None:
    modules = Counter(name(path.parent) for path in PYTHON_FILES if path.name != "__init__.py")
    full = {
        each: count
        for each, count in modules.items()
        if count > MODULES_MAX and each not in FULL_FOLDERS
    }
    assert full == {}, f"folders have at most {MODULES_MAX} modules; group these by subject"


def test_functions_are_short() -> None:
    long = {
        f"{name(path)}:{node.lineno} {node.name}"
        for path in PRODUCT_FILES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    }
    assert long == set()


def test_modules_are_named_for_one_noun() -> None:
    refused = MODULE_NAMES_REFUSED | sys.stdlib_module_names
    named = [name(path) for path in PRODUCT_FILES if path.stem in refused]
    assert [each for each in named if not each.endswith("/__main__.py")] == []


def test_cores_call_no_builtin_that_does_io() -> None:
    """What import-linter cannot see: builtins need no import."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (cores,) = (
        each["source_modules"]
        for each in contracts["contracts"]
        if each["name"].startswith("cores do no I/O")
    )
    folders = tuple(f"{core.replace('.', '/')}/" for core in cores)
    files = [path for path in PRODUCT_FILES if name(path).split("/", 1)[1].startswith(folders)]
    assert len({name(path).split("/")[0] for path in files}) > 3, "the contract has other packages"
    refused = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
    calls = [
        f"{name(path)}:{node.lineno} {node.func.id}"
        for path in files
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in refused
    ]
    assert calls == []


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


def test_nothing_of_the_workplace_is_committed() -> None:
    words = re.compile(r"(?<!\w)/wor[k]/|registry\.npm[j]s|files\.python[h]osted")
    telling = [
        name(path)
        for path in tracked("*")
        if path.suffix not in {".gz", ".json"} and words.search(path.read_text(errors="replace"))
    ]
    assert telling == []
