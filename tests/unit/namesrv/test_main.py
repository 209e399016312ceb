"""Tests `gantry namesrv` as its users call it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.namesrv import main

PROGRAM = "import sys; from gantrymq.namesrv.main import run; sys.exit(run(sys.argv[1:]))"
COMMAND = [sys.executable, "-c", PROGRAM]
LOOPBACK = ["--set", "bindAddress=127.0.0.1", "--set", "listenPort=0", "--set", "metricsPort=0"]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *LOOPBACK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_it_says_that_it_runs_in_javas_words_and_stops_on_sigterm() -> None:
    with running("-n", "ignored:9876") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        start = "The Name Server boot success. serializeType=JSON, address 127.0.0.1:"
        assert line.startswith(start)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == 0


@pytest.mark.parametrize("option", ["-p", "--print-config", "--printConfigItem"])
def test_printing_shows_all_settings_in_force(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my.properties"
    file.write_text("listenPort=1234\nnoSuchKey=1\n")
    assert main.run(["-c", str(file), option, "--set", "clusterTest=true"]) == 0
    shown = capsys.readouterr()
    settings = parse_properties(shown.out)
    assert (settings["listenPort"], settings["clusterTest"]) == ("1234", "true")
    assert "noSuchKey" in shown.err


@pytest.mark.parametrize(
    ("arguments", "telling"),
    [
        (["-c", "missing"], "missing cannot be read"),
        (["--set", "listenPort=many"], "listenPort=many (flag): must be a whole number"),
        (["--set", "listenPort"], "write KEY=VALUE"),
        (["--set", "listeners=here"], "write for example internal:0.0.0.0:9876"),
    ],
)
def test_an_invalid_setting_is_one_clear_line(
    arguments: list[str], telling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) != 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert telling in lines[0]


def test_help_names_the_options_and_how_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main.run(["-h"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    for word in (
        "--config-file",
        "--print-config",
        "--namesrv-addr",
        "--set",
        "GANTRY_LISTEN_PORT",
    ):
        assert word in shown


def test_help_imports_no_server() -> None:
    telling = "import sys; from gantrymq.namesrv import main; print('asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", telling], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
