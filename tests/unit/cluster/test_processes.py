"""Tests real processes that are started, found, frozen and ended."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from cluster.local import processes
from cluster.settings import Layout
from cluster.shell import wait_until

SLEEPER = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)"]
# The command line exits and leaves its children to the machine's init; a test does not.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(state=tmp_path / "state", cache=tmp_path / "cache")


def test_the_name_of_a_program_may_contain_anything() -> None:
    fields = " ".join(str(number) for number in range(4, 40))
    state = processes.parse_stat(f"7 (a ) S (b) T {fields}")
    assert (state.letter, state.started) == ("T", "22")


def test_a_process_is_found_until_it_is_killed(layout: Layout) -> None:
    assert processes.find(layout, "sleeper") is None
    processes.start(layout, "sleeper", SLEEPER)
    assert processes.find(layout, "sleeper") is not None
    processes.kill(layout, "sleeper")
    assert processes.find(layout, "sleeper") is None
    processes.kill(layout, "sleeper")


def test_output_goes_to_the_log(layout: Layout) -> None:
    processes.start(layout, "sleeper", SLEEPER)
    log = layout.logs / "sleeper.log"
    wait_until(lambda: log.read_text() == "begun\n", what="the first line", timeout_s=30)
    processes.kill(layout, "sleeper")


def test_a_process_that_is_stopped_is_still_found(layout: Layout) -> None:
    processes.start(layout, "sleeper", SLEEPER)
    assert not processes.is_stopped(layout, "sleeper")
    processes.send_signal(layout, "sleeper", signal.SIGSTOP)
    wait_until(lambda: processes.is_stopped(layout, "sleeper"), what="the stop", timeout_s=30)
    assert processes.find(layout, "sleeper") is not None
    processes.kill(layout, "sleeper")


def test_another_process_with_the_same_id_is_not_ours(layout: Layout) -> None:
    processes.start(layout, "sleeper", SLEEPER)
    file = layout.run / "sleeper.pid"
    recorded = file.read_text()
    pid, started = recorded.split()
    file.write_text(f"{pid} {int(started) - 1}\n")
    assert processes.find(layout, "sleeper") is None
    file.write_text(recorded)
    processes.kill(layout, "sleeper")
