"""Tests whole processes: each program below runs in its own interpreter, as in production."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap

import pytest

from gantrymq.runtime.logs import Log
from gantrymq.runtime.process import ExitCode, Process

PRELUDE = """
import asyncio, os, signal, sys
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.logs import configure
from gantrymq.runtime.process import Process, run
configure()
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
def kill(number):
    os.kill(os.getpid(), number)
"""


def outcome(program: str, stop_seconds: float = 20.0) -> tuple[int, str]:
    """Exit code and standard error of a process that runs `program`."""
    script = PRELUDE + textwrap.dedent(program)
    script += f"\nsys.exit(run(program, stop_seconds={stop_seconds}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


def test_a_program_that_ends_is_a_success_on_uvloop() -> None:
    code, errors = outcome("""
        async def program(process):
            assert type(asyncio.get_running_loop()).__module__ == "uvloop"
    """)

    assert (code, 'stopping cause="the program ended"' in errors) == (ExitCode.OK, True)
    assert " modules=" in errors.splitlines()[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_for_a_graceful_stop(number: signal.Signals) -> None:
    code, errors = outcome(f"""
        async def program(process):
            asyncio.get_running_loop().call_soon(kill, {number.value})
            await process.stop_requested()
            await asyncio.sleep(0)
            print("cleaned up", file=sys.stderr)
    """)

    assert code == ExitCode.OK
    assert f"stopping cause={number.name}" in errors
    assert "cleaned up" in errors


def test_a_second_signal_ends_it_at_once() -> None:
    code, _ = outcome("""
        async def program(process):
            kill(signal.SIGTERM)
            await process.stop_requested()
            kill(signal.SIGTERM)
            await asyncio.Event().wait()
    """)

    assert code == 128 + signal.SIGTERM


def test_program_that_does_not_stop_is_ended() -> None:
    code, errors = outcome(
        """
        async def program(process):
            kill(signal.SIGTERM)
            await asyncio.Event().wait()
        """,
        stop_seconds=0.05,
    )

    assert code == ExitCode.STUCK
    assert "not stopped in time" in errors


def test_hanging_thread_does_not_keep_the_process_alive() -> None:
    code, errors = outcome(
        """
        import threading
        async def program(process):
            kill(signal.SIGTERM)
            await asyncio.to_thread(threading.Event().wait)
        """,
        stop_seconds=0.05,
    )

    assert code == ExitCode.STUCK
    assert "not stopped in time" in errors


def test_failed_task_stops_the_process_with_an_error() -> None:
    code, errors = outcome("""
        async def scan():
            raise ValueError("a bug")
        async def program(process):
            process.own(scan(), "scan")
            await process.stop_requested()
    """)

    assert code == ExitCode.BUG
    assert "a task failed task=scan" in errors
    assert "ValueError: a bug" in errors


def test_a_failed_program_is_a_bug_with_its_traceback() -> None:
    code, errors = outcome("""
        async def program(process):
            raise ValueError("a bug")
    """)

    assert code == ExitCode.BUG
    assert "the program failed" in errors
    assert "ValueError: a bug" in errors


def test_unusable_setting_is_one_line_without_traceback() -> None:
    code, errors = outcome("""
        async def program(process):
            raise ConfigurationError("listenPort=abc is no number")
    """)

    assert code == ExitCode.CONFIGURATION
    assert "gantry: listenPort=abc is no number\n" in errors
    assert "Traceback" not in errors


def test_an_exception_in_a_callback_is_logged_and_survived() -> None:
    code, errors = outcome("""
        async def program(process):
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    """)

    assert code == ExitCode.OK
    assert "exception in the event loop" in errors
    assert "ZeroDivisionError" in errors


async def test_owned_tasks_are_cancelled_and_may_clean_up() -> None:
    process = Process(Log("test"))
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")

    task = process.own(work(), "work")
    await asyncio.sleep(0)
    await process.cancel_tasks()

    assert task.cancelled()
    assert cleaned == ["up"]
    assert not process.is_stopping


async def test_task_that_ends_normally_is_ignored() -> None:
    process = Process(Log("test"))

    async def work() -> None: ...

    await process.own(work(), "work")

    assert not process.is_stopping
    assert process.failure is None


async def test_a_task_that_ignores_its_cancellation_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.runtime.process.TASK_SECONDS", 0.01)
    process = Process(Log("test"))
    release = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await release.wait()

    task = process.own(stubborn(), "stubborn")
    await asyncio.sleep(0)
    await process.cancel_tasks()

    assert "a task does not end task=stubborn" in caplog.text
    release.set()
    await task


def test_memory_freed_in_one_round_is_reused_in_the_next() -> None:
    code, errors = outcome("""
        import resource
        def faults():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        async def program(process):
            for _ in range(10):
                [b"x" * 300_000 for _ in range(6)]
            before = faults()
            for _ in range(100):
                [b"x" * 300_000 for _ in range(6)]
            print(f"faults={faults() - before}.", file=sys.stderr)
    """)

    assert code == ExitCode.OK
    assert int(errors.partition("faults=")[2].partition(".")[0]) < 1000
