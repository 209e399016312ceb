"""Runs commands and waits for conditions; errors say what failed and what to do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

COMMAND_TIMEOUT_S = 300.0  # longer than any command here takes, except builds
ERROR_LINES = 15  # of a failed command's output: enough for a reason, short enough to be read
POLL_S = 0.1


class ClusterError(Exception):
    """An error that is shown to the user without a traceback: what failed, why, and what to do."""


def run(
    *command: str | Path,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float = COMMAND_TIMEOUT_S,
) -> str:
    """Run a command that must succeed; returns its standard output."""
    words = [str(word) for word in command]
    shown = " ".join(words)
    try:
        done = subprocess.run(
            words,
            input=stdin,
            env=environment,
            cwd=folder,
            timeout=timeout_s,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise ClusterError(f"cannot run `{shown}`: {words[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"`{shown}` did not finish within {timeout_s:g} s") from error
    if done.returncode != 0:
        reason = "\n".join((done.stderr or done.stdout).strip().splitlines()[-ERROR_LINES:])
        raise ClusterError(f"`{shown}` failed with exit code {done.returncode}:\n{reason}")
    return done.stdout


def succeeds(*command: str | Path, environment: Mapping[str, str] | None = None) -> bool:
    """Whether the command succeeds; its output is ignored."""
    try:
        run(*command, environment=environment)
    except ClusterError:
        return False
    return True


def wait_until(
    condition: Callable[[], bool], *, what: str, timeout_s: float, advice: str = ""
) -> None:
    """Poll until the condition holds; `what` completes the sentence "timed out waiting for"."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            hint = f"; {advice}" if advice else ""
            raise ClusterError(f"timed out after {timeout_s:g} s waiting for {what}{hint}")
        time.sleep(POLL_S)
