"""Starts, finds and ends the processes of the cluster on the host.

Each process has a file with its process id and its start time. The start time distinguishes the
process from a later one that was given the same id.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.settings import CHECKOUT, Layout
from cluster.shell import wait_until

EXIT_TIMEOUT_S = 20.0  # after SIGKILL; a node with many pods takes the kernel a second or two


@dataclass(frozen=True)
class ProcessState:
    """The state of one process, from /proc."""

    letter: str  # R, S, D: alive; T: stopped; Z: dead, not yet reaped
    started: str  # in clock ticks since the machine's boot


def parse_stat(text: str) -> ProcessState:
    """Reads /proc/PID/stat. The program's name, in parentheses, may contain anything."""
    fields = text.rpartition(")")[2].split()
    return ProcessState(letter=fields[0], started=fields[19])


def process_state(pid: int) -> ProcessState | None:
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None


def _file(layout: Layout, name: str) -> Path:
    return layout.run / f"{name}.pid"


def find(layout: Layout, name: str) -> int | None:
    """The id of a process of the cluster that is alive, possibly frozen; None if there is none."""
    try:
        pid, started = _file(layout, name).read_text().split()
    except FileNotFoundError:
        return None
    state = process_state(int(pid))
    alive = state is not None and state.letter != "Z" and state.started == started
    return int(pid) if alive else None


def is_stopped(layout: Layout, name: str) -> bool:
    pid = find(layout, name)
    state = process_state(pid) if pid is not None else None
    return state is not None and state.letter == "T"


def start(
    layout: Layout,
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Start a process that outlives this one; its output goes to its log."""
    layout.run.mkdir(parents=True, exist_ok=True)
    layout.logs.mkdir(parents=True, exist_ok=True)
    with (layout.logs / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **(environment or {})},
            cwd=CHECKOUT,
            start_new_session=True,
        )
    state = process_state(process.pid)
    assert state is not None, "a child that was not waited for is still in /proc"
    _file(layout, name).write_text(f"{process.pid} {state.started}\n")


def send_signal(layout: Layout, name: str, number: signal.Signals) -> None:
    pid = find(layout, name)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill(layout: Layout, name: str) -> None:
    """Kill a process and wait until it has ended.

    No process is asked to finish: an API server takes ten seconds to end its open watches, and only
    etcd has state that must survive.
    """
    send_signal(layout, name, signal.SIGKILL)
    wait_until(
        lambda: find(layout, name) is None, what=f"the end of {name}", timeout_s=EXIT_TIMEOUT_S
    )
    _file(layout, name).unlink(missing_ok=True)
