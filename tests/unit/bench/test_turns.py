"""Tests the turns of a benchmark with real processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench import memory
from bench.turns import alone, counted, in_turns

STATE_SECONDS = 10.0


class Sleeper:
    """A process that waits."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["sleep", "600"])

    def process_ids(self) -> Sequence[int]:
        return [self.process.pid]

    @property
    def stands_still(self) -> bool:
        """The state that the system reports; it stops a process soon, but not at once."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "touch", lambda: None)


@pytest.fixture
def sides() -> Iterator[Sequence[dict[str, Sleeper]]]:
    """Servers and clients, two of each."""
    both = [{"Java": Sleeper(), "Gantry": Sleeper()} for _ in range(2)]
    yield both
    for each in (sleeper for side in both for sleeper in side.values()):
        each.process.kill()
        each.process.wait()


def wait_for(sleepers: Sequence[Sleeper], expected: Sequence[bool]) -> None:
    end = time.monotonic() + STATE_SECONDS
    while (seen := [each.stands_still for each in sleepers]) != list(expected):
        assert time.monotonic() < end, seen
        time.sleep(0.001)


def test_parties_outside_their_turn_are_stopped(sides: Sequence[dict[str, Sleeper]]) -> None:
    sleepers = [side[name] for name in ("Java", "Gantry") for side in sides]
    seen = []
    for number, name in in_turns(2, *sides):
        seen.append((number, name))
        wait_for(sleepers, [name != "Java"] * 2 + [name != "Gantry"] * 2)
    assert seen == [(0, "Java"), (0, "Gantry"), (1, "Java"), (1, "Gantry")]
    wait_for(sleepers, [False] * 4)


def test_all_run_again_after_a_round_that_broke_off(sides: Sequence[dict[str, Sleeper]]) -> None:
    first, second = sides[0].values()

    def break_off() -> None:
        with alone([first], [first, second]):
            wait_for([first, second], [False, True])
            raise TimeoutError

    with pytest.raises(TimeoutError):
        break_off()
    wait_for([first, second], [False, False])


def test_ended_process_does_not_keep_others_stopped(sides: Sequence[dict[str, Sleeper]]) -> None:
    own, (ended, other) = sides[1]["Java"], sides[0].values()
    with alone([own], [own, ended, other]):
        wait_for([other], [True])
        ended.process.kill()
        ended.process.wait()
    wait_for([other], [False])
    with alone([own], [own, ended, other]):
        wait_for([other], [True])
    wait_for([other], [False])


def test_the_first_round_does_not_count(sides: Sequence[dict[str, Sleeper]]) -> None:
    assert [counts for counts, name in counted(2, *sides) if name == "Java"] == [False, True, True]
