"""Tests that the reported implementation is the one that runs."""

from __future__ import annotations

import os
from pathlib import Path
from types import FunctionType

import pytest

from gantrymq.runtime import speedups
from gantrymq.runtime.hot_modules import HOT_MODULES
from gantrymq.runtime.logs import Log
from gantrymq.runtime.speedups import implementation, implementations
from gantrymq.wire import header_json
from tools.speedups import NAMES_FILE, hot_modules, names_text

ROOT = Path(__file__).parents[3]


def test_list_of_an_installation_is_what_pyproject_declares() -> None:
    text = (ROOT / NAMES_FILE).read_text()
    assert text == names_text(ROOT), "run: python -m tools.speedups --write-names"
    assert tuple(hot_modules(ROOT)) == HOT_MODULES


def test_the_run_has_the_implementation_it_was_asked_for() -> None:
    expected = "pure" if os.environ.get("GANTRY_PURE") == "1" else "compiled"
    assert implementation() == expected
    assert set(implementations().values()) == {expected}


def test_the_library_was_compiled_without_assertions_of_python_itself() -> None:
    """Extensions are compiled with NDEBUG and -fwrapv; without them Python's own flags were
    lost."""
    libraries = list((ROOT / "common").glob("gantrymq_speedups*.so"))
    assert len(libraries) == 1 or implementation() == "pure"
    assert not [each for each in libraries if b"__assert_fail" in each.read_bytes()]


def test_the_answer_agrees_with_the_functions_themselves() -> None:
    assert isinstance(header_json.decode, FunctionType) == (implementation() == "pure")


def test_a_server_logs_what_it_runs_and_warns_where_that_is_slow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    speedups.report(Log("broker"))
    (line,) = caplog.records
    assert f"modules={implementation()}" in line.message
    assert (line.levelname == "WARNING") == (implementation() == "pure")
    assert speedups.of_process() == implementation()
