"""Tests the verbs of `python -m cluster`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import __main__ as command_line
from cluster import kind
from cluster.shell import ClusterError

ROOT = Path(__file__).resolve().parents[3]


def run(*words: str, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cluster", *words],
        cwd=ROOT,
        env={**os.environ, "GANTRY_CLUSTER_STATE": str(state), "CLUSTER": "local"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["slow", "1001"], (500, 501)),
        (["slow", "1000", "--direction", "request"], (1000, 0)),
        (["slow", "1000", "--direction", "response"], (0, 1000)),
        (["fast"], (0, 0)),
    ],
)
def test_a_round_trip_is_late_by_what_was_asked(
    words: list[str], expected: tuple[int, int]
) -> None:
    options = command_line.parser().parse_args(["api", *words])
    assert command_line.latencies(options) == expected


def test_slow_without_a_number_says_how_to_give_one() -> None:
    options = command_line.parser().parse_args(["api", "slow"])
    with pytest.raises(ClusterError, match="api slow 1000"):
        command_line.latencies(options)


@pytest.mark.parametrize(("choice", "expected"), [("kind", True), ("local", False)])
def test_the_environment_chooses_the_kind_of_cluster(
    monkeypatch: pytest.MonkeyPatch, choice: str, *, expected: bool
) -> None:
    monkeypatch.setenv("CLUSTER", choice)
    assert command_line.uses_kind("up") is expected


def test_without_docker_and_kind_the_cluster_is_local(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CLUSTER", raising=False)
    assert command_line.uses_kind("up") is False
    assert command_line.uses_kind("status") is False


def test_an_unknown_kind_of_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER", "minikube")
    with pytest.raises(ClusterError, match="it is kind, local or auto"):
        command_line.uses_kind("up")


@pytest.mark.parametrize(
    "words", [["node", "off", "1"], ["api", "stop"], ["load", "x:1"], ["env"], ["exec", "1", "ls"]]
)
def test_verbs_that_need_a_cluster_say_so(words: list[str], tmp_path: Path) -> None:
    done = run(*words, state=tmp_path / "state")
    assert done.returncode == 1
    assert "run `make cluster-up` first" in done.stderr


def test_status_without_a_cluster_is_a_failure_without_a_traceback(tmp_path: Path) -> None:
    done = run("status", state=tmp_path / "state")
    assert (done.returncode, done.stderr) == (1, "")


def test_down_without_a_cluster_is_done_at_once(tmp_path: Path) -> None:
    done = run("down", state=tmp_path / "state")
    assert (done.returncode, done.stdout) == (0, "the cluster is down\n")


def test_a_node_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert run("node", "off", "4", state=tmp_path / "state").returncode == 2


def test_kind_makes_as_many_workers_as_there_are_nodes() -> None:
    assert kind.configuration().count('"role": "worker"') == 3
    names = [kind.node_container(node) for node in (1, 2, 3)]
    assert names == ["gantry-worker", "gantry-worker2", "gantry-worker3"]
