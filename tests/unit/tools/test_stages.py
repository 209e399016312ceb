"""Tests that stages run in two lanes, and that a failure ends the run.

The report lists what did not run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools import stage_catalogue, stages
from tools.stages import STOPPED, Run, main, table

PROGRAMS = {
    "good": "print('1 passed in 0.01s')",
    "bad": "print('1 failed, 3 passed in 0.02s'); raise SystemExit(3)",
    "telling": "print('FAILED tests/unit/a.py::b - assert 1 == 2\\n1 failed in 0.02s'); exit(1)",
    "nice": "import os; print('niceness', os.nice(0))",
    "session": "import os; print('session', os.getsid(0), 'group', os.getpgid(0) == os.getpid())",
    "endless": "import signal; print('waiting', flush=True); signal.pause()",
}


MEETING = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / sys.argv[2]).touch()
while len(list(folder.iterdir())) < 2:
    time.sleep(0.01)
"""


MEETING_COMMAND = (sys.executable, "-c", MEETING)


def command(verb: str) -> Sequence[str]:
    return (sys.executable, "-c", PROGRAMS[verb])


def test_stages_run_in_order_and_their_output_names_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = Run(command)
    run.run(["good", "nice"])
    assert [(each.verb, each.outcome) for each in run.stages] == [("good", "ok"), ("nice", "ok")]
    assert "good | 1 passed in 0.01s" in capsys.readouterr().out
    assert run.stages[0].closing_lines == ["1 passed in 0.01s"]
    assert not run.has_failed


def test_stages_that_a_plus_joins_run_at_the_same_time(tmp_path: Path) -> None:
    """Each of two stages waits for the other's file."""

    def meeting(verb: str) -> Sequence[str]:
        return command(verb) if verb in PROGRAMS else (*MEETING_COMMAND, str(tmp_path), verb)

    run = Run(meeting)
    run.run(["left+right", "good"])
    assert [each.outcome for each in run.stages] == ["ok"] * 3
    assert run.stages[2].verb == "good"


def test_stages_beside_the_others_have_a_low_priority(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Run(command).run(["good"], ["nice"])
    lowest = min(19, os.nice(0) + 10)
    assert f"nice | niceness {lowest}" in capsys.readouterr().out


def test_stages_share_the_session_where_priorities_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Autogroup gives every session the same share, whatever the priorities in it are."""
    Run(command).run(["session"], ["session"])
    line = f"session | session {os.getsid(0)} group True"
    assert capsys.readouterr().out.count(line) == 2


def test_after_a_failure_no_stage_begins() -> None:
    run = Run(command)
    run.run(["bad", "good"])
    assert [(each.verb, each.outcome) for each in run.stages] == [("bad", "FAILED (3)")]
    assert run.has_failed


def test_a_failure_stops_the_stage_beside_it() -> None:
    run = Run(command)
    run.run(["bad"], ["endless", "good"])
    outcomes = {each.verb: each.outcome for each in run.stages}
    assert outcomes["bad"] == "FAILED (3)"
    assert outcomes.get("endless", STOPPED) == STOPPED  # it may not have begun
    assert "good" not in outcomes


def test_the_table_has_times_and_outcomes() -> None:
    run = Run(command)
    run.run(["good"])
    assert table(run.stages).split()[:2] == ["good", "0:00"]
    assert table(run.stages).endswith("ok")


def reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr(stages.Run.__init__, "__defaults__", (command,))
    code = main(arguments)
    return code, capsys.readouterr().out


def test_report_ends_with_stages_left_out_and_last_lines_of_runners(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = reported(monkeypatch, capsys, "good", "--left-out", "crash")
    assert code == 0
    assert f"make crash            {stage_catalogue.about('crash')}" in text
    assert text.endswith("good:\n1 passed in 0.01s\n")


def test_the_report_repeats_which_tests_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text = reported(monkeypatch, capsys, "telling")
    told = "FAILED tests/unit/a.py::b - assert 1 == 2\n1 failed in 0.02s\n"
    assert text.endswith(f"telling:\n{told}")


def test_stages_that_a_failure_prevented_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = reported(monkeypatch, capsys, "bad", "good")
    assert code == 1
    assert "make good" in text


def test_a_stage_without_its_tools_is_left_out_and_in_ci_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GANTRY_STRICT", raising=False)
    lacking = stage_catalogue.Entry("needs the moon", (lambda: "the moon",), "MOON")
    monkeypatch.setattr(stage_catalogue, "CATALOGUE", {"endless": lacking})
    code, text = reported(monkeypatch, capsys, "good", "endless")
    assert code == 0
    assert "endless          LEFT OUT: it needs the moon; MOON=0 leaves it out" in text
    monkeypatch.setenv("GANTRY_STRICT", "1")
    code, text = reported(monkeypatch, capsys, "good", "endless")
    assert code == 2
    assert "good |" not in text


def test_table_is_written_to_the_requested_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GANTRY_STAGES_FILE", str(tmp_path / "stages"))
    reported(monkeypatch, capsys, "good")
    assert (tmp_path / "stages").read_text().split()[0] == "good"
