"""Tests that every example, run twice as a user runs it, prints what its docstring says.

All of them run against one real `gantry standalone`, several at a time, the slow ones first: most
of their time they wait for delays.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from gantrymq.fakes.example_runs import RUN_SECONDS, printed, said
from gantrymq.testing.server import StandaloneServer

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
OF_SPARK = sorted(FOLDER.glob("*_spark_*.py"))  # tests/spark runs them: they need Java
RUN_HERE = [path for path in EXAMPLES if path not in OF_SPARK]
SLOW_FIRST = ("13_transactions", "09_delay_level")
AT_ONCE = 5
LINES_MAX = 90

pytestmark = pytest.mark.timeout(300)


def named(path: Path) -> str:
    return path.stem


@pytest.fixture(scope="module")
def outputs(
    tmp_path_factory: pytest.TempPathFactory, gantry_server: StandaloneServer
) -> Iterator[dict[Path, Future[list[list[str]]]]]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")},
        "NAMESRV_ADDR": gantry_server.name_servers,
        "HOME": str(tmp_path_factory.mktemp("home")),
    }
    order = sorted(RUN_HERE, key=lambda path: path.stem not in SLOW_FIRST)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {path: pool.submit(printed, path, environment) for path in order}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("example", RUN_HERE, ids=named)
def test_an_example_prints_what_it_says_twice_in_a_row(
    example: Path, outputs: dict[Path, Future[list[list[str]]]]
) -> None:
    first, second = outputs[example].result()
    assert first == said(example)
    assert second == said(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_example_says_what_it_shows_how_to_run_it_and_what_it_prints(example: Path) -> None:
    text = ast.get_docstring(ast.parse(example.read_text())) or ""
    assert re.search(
        rf"^Run:  .*examples/{re.escape(example.name)}", text, re.MULTILINE | re.DOTALL
    )
    assert said(example)
    assert len(example.read_text().splitlines()) <= LINES_MAX


def test_examples_are_numbered_without_a_gap_and_listed_in_that_order() -> None:
    numbers = [re.match(r"(\d\d)_[a-z_]+\.py", path.name) for path in EXAMPLES]
    assert [
        int(found[1]) if found else path for found, path in zip(numbers, EXAMPLES, strict=True)
    ] == [*range(1, len(EXAMPLES) + 1)]
    listed = re.findall(r"\]\((\d\d[^)]*)\)", (FOLDER / "README.md").read_text())
    assert listed == [path.name for path in EXAMPLES]


def test_example_of_a_test_is_a_valid_test(tmp_path: Path) -> None:
    example = FOLDER / "26_test_your_application.py"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            example,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
