"""Runs make verbs as stages and reports their progress, their times and what was not run.

    python -m tools.stages VERB... [--beside VERB...] [--left-out VERB...]

The verbs run one after the other; `a+b` runs two at the same time. Those behind `--beside` form a
second sequence at a low priority: it takes what the first one leaves of the processors, so that
tests of real processes keep their timing. Each line of output is shown as it comes, behind the name
of its stage; the report ends with the tests that failed and the last line of each test runner.
After a failure no stage begins, and those that run are stopped.

A stage whose tools are missing is left out, loudly; with GANTRY_STRICT=1, as in CI, nothing runs.
GANTRY_STAGES_FILE names a file that keeps the table.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from tools.stage_catalogue import about, missing_tools

OK: Final = "ok"
STOPPED: Final = "stopped"
LOW_PRIORITY: Final = 10
HEARTBEAT_SECONDS: Final = 60.0
# pytest's last line, with -q and without: "12 passed, 1 skipped in 3.45s (0:00:03)".
CLOSING_LINE: Final = re.compile(r"(=+ )?\d+ (passed|failed|error|deselected|skipped).* in [\d.]+s")
# pytest's line on a test that failed, with -ra; the report repeats so many of a stage.
FAILURE_LINE: Final = re.compile(r"(FAILED|ERROR) \S+::")
MAX_FAILURE_LINES: Final = 20


def make(verb: str) -> Sequence[str]:
    """The command of a stage."""
    return ("make", "--no-print-directory", verb)


@final
@dataclass
class Stage:
    """One verb: its process while it runs, then what came of it."""

    verb: str
    process: subprocess.Popen[str] | None = None
    began: float = 0.0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    outcome: str = ""
    closing_lines: list[str] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        return self.outcome.startswith("FAILED")

    def is_told_again(self, line: str) -> bool:
        """Whether the report repeats this line: a runner's last one, and the tests that failed."""
        if CLOSING_LINE.match(line):
            return True
        return len(self.closing_lines) < MAX_FAILURE_LINES and bool(FAILURE_LINE.match(line))


@final
class Run:
    """The lanes of one invocation; each lane is a thread that runs its stages in order."""

    def __init__(self, command: Callable[[str], Sequence[str]] = make) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._is_over = threading.Event()
        self.has_failed = False
        self.stages: list[Stage] = []

    def run(self, verbs: Sequence[str], beside: Sequence[str] = ()) -> None:
        """Run both lanes until their ends, or until a stage fails."""
        lanes = [threading.Thread(target=self._run_lane, args=(verbs, 0))]
        if beside:
            lanes.append(threading.Thread(target=self._run_lane, args=(beside, LOW_PRIORITY)))
        heartbeat = threading.Thread(target=self._tell_progress, daemon=True)
        for thread in (*lanes, heartbeat):
            thread.start()
        try:
            for lane in lanes:
                lane.join()
        finally:  # an interrupt, too
            self._is_over.set()
            self._stop_all()

    def _run_lane(self, steps: Sequence[str], niceness: int) -> None:
        for step in steps:
            started = [self._start(verb, niceness) for verb in step.split("+")]
            followers = [
                threading.Thread(target=self._follow, args=(stage,)) for stage in started if stage
            ]
            for follower in followers:
                follower.start()
            for follower in followers:
                follower.join()

    def _start(self, verb: str, niceness: int) -> Stage | None:
        with self._lock:
            if self.has_failed or self._is_over.is_set():
                return None
            stage = Stage(verb, began=time.monotonic())
            self.stages.append(stage)
            self._say(f"=== {verb} begins, {self._elapsed()} after the start")
            stage.process = subprocess.Popen(
                ["nice", "-n", str(niceness), *self._command(verb)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                # A group to interrupt, in this session: where the kernel groups processes by
                # session (autogroup), priorities count only among those of one session.
                process_group=0,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        return stage

    def _follow(self, stage: Stage) -> None:
        process = stage.process
        assert process is not None
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._say(f"{stage.verb} | {line.rstrip()}")
                if stage.is_told_again(line):
                    stage.closing_lines.append(line.rstrip())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self._lock:
            stage.seconds = time.monotonic() - stage.began
            stage.processor_seconds = usage.ru_utime + usage.ru_stime
            stage.outcome = self._outcome(process.returncode)
            stage.process = None
            self._say(f"=== {stage.verb}: {stage.outcome} after {_clock(stage.seconds)}")
            if stage.has_failed:
                self.has_failed = True
                self._terminate()

    def _outcome(self, code: int) -> str:
        if code == 0:
            return OK
        return STOPPED if self.has_failed or self._is_over.is_set() else f"FAILED ({code})"

    def _stop_all(self) -> None:
        with self._lock:
            self._terminate()

    def _terminate(self) -> None:
        """Interrupt what runs, with all that it started: tests then stop their servers."""
        for stage in self.stages:
            if stage.process is not None:
                with suppress(ProcessLookupError):  # it has just ended
                    os.killpg(stage.process.pid, signal.SIGINT)

    def _tell_progress(self) -> None:
        while not self._is_over.wait(HEARTBEAT_SECONDS):
            with self._lock:
                running = [stage for stage in self.stages if stage.process is not None]
            now = time.monotonic()
            told = ", ".join(f"{each.verb} for {_clock(now - each.began)}" for each in running)
            self._say(f"=== {self._elapsed()} elapsed; running: {told}")

    def _elapsed(self) -> str:
        return _clock(time.monotonic() - self._began)

    @staticmethod
    def _say(line: str) -> None:
        print(line, flush=True)


def table(stages: Iterable[Stage]) -> str:
    """A line a stage: how long it took, what it took of the processors, what came of it."""
    return "\n".join(
        f"  {each.verb:<16} {_clock(each.seconds):>7} {each.processor_seconds:7.0f} s of CPU"
        f"  {each.outcome}"
        for each in stages
    )


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _verbs(steps: Iterable[str]) -> list[str]:
    return [verb for step in steps for verb in step.split("+")]


def _without(steps: Iterable[str], missing: Container[str]) -> list[str]:
    kept = ("+".join(verb for verb in step.split("+") if verb not in missing) for step in steps)
    return [step for step in kept if step]


def _left_out(verbs: Iterable[str]) -> str:
    rows = (f"  make {verb:<16} {about(verb)}" for verb in verbs)
    return "\n".join(["not run:", *rows])


def _report(run: Run, left_out: Sequence[str], missing: dict[str, str]) -> None:
    told = table(run.stages)
    print(f"\nstages\n{told}")
    for verb, why in missing.items():
        print(f"  {verb:<16} LEFT OUT: {why}")
    if left_out:
        print(f"\n{_left_out(left_out)}\n  make test-all         runs every stage at CI's size")
    print()
    for stage in run.stages:
        if stage.closing_lines:
            print("\n".join([f"{stage.verb}:", *stage.closing_lines]))
    if kept := os.environ.get("GANTRY_STAGES_FILE"):
        with Path(kept).open("a") as file:
            file.write(f"{told}\n")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.stages", description=__doc__)
    parser.add_argument("verbs", nargs="+", metavar="VERB")
    parser.add_argument("--beside", nargs="+", default=[], metavar="VERB")
    parser.add_argument("--left-out", nargs="+", default=[], metavar="VERB")
    asked = parser.parse_args(arguments)
    # What a shell runs in the background ignores interrupts, and so would the stages.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = _verbs([*asked.verbs, *asked.beside])
    missing = {verb: why for verb in wanted if (why := missing_tools(verb)) is not None}
    for verb, why in missing.items():
        print(f"stage {verb} cannot run: {why}", flush=True)
    if missing and os.environ.get("GANTRY_STRICT") == "1":
        print("GANTRY_STRICT=1: every stage must run; no stage was started")
        return 2
    run = Run()
    run.run(_without(asked.verbs, missing), _without(asked.beside, missing))
    begun = {stage.verb for stage in run.stages}
    never = [verb for verb in wanted if verb not in begun and verb not in missing]
    _report(run, [*never, *_verbs(asked.left_out)], missing)
    is_well = not never and all(stage.outcome == OK for stage in run.stages)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
