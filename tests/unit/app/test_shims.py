"""Tests that mqshutdown ends the chosen processes and no others."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from gantrymq.app.shims import shut_down


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that would get SIGTERM."""
    pids: list[int] = []

    def kill(pid: int, number: int) -> None:
        assert number == signal.SIGTERM
        pids.append(pid)

    monkeypatch.setattr(os, "kill", kill)
    return pids


def add(processes: Path, pid: int, *words: str) -> None:
    (processes / str(pid)).mkdir()
    (processes / str(pid) / "cmdline").write_bytes("\0".join(words).encode() + b"\0")


def test_only_running_process_is_ended(tmp_path: Path, ended: list[int]) -> None:
    add(tmp_path, 7, "/usr/bin/python", "/venv/bin/gantry", "broker", "-c", "broker.conf")
    add(tmp_path, 8, "/usr/bin/python", "/venv/bin/gantry", "namesrv")
    add(tmp_path, 9, "vi", "mqbroker.conf")
    add(tmp_path, 10, "grep", "gantry", "broker")
    (tmp_path / "self").mkdir()
    assert shut_down(["broker"], tmp_path, os.getuid()) == 0
    assert ended == [7]


def test_java_process_is_not_signalled(tmp_path: Path, ended: list[int]) -> None:
    add(tmp_path, 7, "java", "org.apache.rocketmq.broker.BrokerStartup", "-c", "broker.conf")
    assert shut_down(["broker"], tmp_path, os.getuid()) == 1
    assert ended == []


def test_processes_of_other_users_are_not_signalled(tmp_path: Path, ended: list[int]) -> None:
    add(tmp_path, 7, "/venv/bin/mqbroker")
    assert shut_down(["broker"], tmp_path, os.getuid() + 1) == 1
    assert ended == []


def test_one_of_several_processes_must_be_named(tmp_path: Path, ended: list[int]) -> None:
    add(tmp_path, 7, "/venv/bin/mqbroker")
    add(tmp_path, 8, "python3", "/venv/bin/mqbroker")
    assert shut_down(["broker"], tmp_path, os.getuid()) == 2
    assert shut_down(["broker", "9"], tmp_path, os.getuid()) == 2
    assert ended == []
    assert shut_down(["broker", "8"], tmp_path, os.getuid()) == 0
    assert shut_down(["broker", "--all"], tmp_path, os.getuid()) == 0
    assert ended == [8, 7, 8]


@pytest.mark.parametrize("words", [[], ["proxy"], ["broker", "1", "2"]])
def test_wrong_usage(tmp_path: Path, words: list[str]) -> None:
    assert shut_down(words, tmp_path, os.getuid()) == 2
