"""Tests the `gantry` command before it starts a program."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gantrymq.app.entry import dispatch


def test_help_lists_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["--help"]) == 0
    assert "namesrv" in capsys.readouterr().out


def test_no_arguments_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch([]) == 2
    assert "usage: gantry" in capsys.readouterr().out


def test_error_of_an_unknown_program_lists_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert dispatch(["namesvr"]) == 2
    error = capsys.readouterr().err
    assert "namesvr" in error
    assert "namesrv" in error


def test_version_shows_the_implementation_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["--version"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("gantry ")
    assert ("modules compiled" in text) != ("modules pure" in text)
    assert ("modules pure" in text) == ("pip install --force-reinstall" in text)


def test_help_loads_no_program() -> None:
    code = (
        "import sys; from gantrymq.app.entry import dispatch; dispatch(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('asyncio', 'aiohttp', 'uvloop')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_spark_replaces_the_process_with_its_module() -> None:
    command = [sys.executable, "-m", "gantrymq.app", "spark", "archive", "--help"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.startswith("usage: gantry spark archive")
