"""Runs the tests' child processes: starts them, waits for conditions, and ends them by their id.

All output of a child goes to `<folder>/out.log`; `report` returns the ends of all its logs.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

POLL_SECONDS = 0.05
TERMINATE_SECONDS = 2.0  # a Java broker takes 10 s and more to shut down
DIE_SECONDS = 30.0
TAIL_BYTES = 6000

living: "set[Child]" = set()


class Child:
    """One process in a folder of its own."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        piped: bool = False,
    ) -> None:
        self.name = name
        self.folder = folder
        log = folder / "out.log"
        with log.open("ab") as sink:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else sink,
                stderr=sink,
                cwd=folder,
                env={**os.environ, **(environment or {})},
            )
        living.add(self)

    @property
    def input(self) -> IO[bytes]:
        """The pipe to a piped child."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """The pipe from a piped child."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def number(self) -> int:
        """The process id."""
        return self._process.pid

    def wait(self, seconds: float) -> None:
        """Wait until the process ends by itself."""
        self._process.wait(seconds)
        self._close()

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for something that this child should bring about; the error has the ends of its
        logs."""
        try:
            wait_until(lambda: self._must_live() and condition(), what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.report()}") from None

    def pause(self) -> None:
        """Stop the process: its connections stay open, but it does nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._close()

    def stop(self) -> None:
        """Ask the process to end, and kill it if it does not."""
        self.resume()
        self._process.terminate()
        try:
            self._process.wait(TERMINATE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def finish(self, seconds: float) -> None:
        """Ask the process to end; fails if it does not."""
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"not ended within {seconds:g} s\n{self.report()}") from None
        self._close()

    def report(self) -> str:
        """The ends of its logs."""
        texts = [f"{self.name} ({self.folder}), exit code {self._process.poll()}"]
        for log in sorted(self.folder.glob("*.log")):
            with log.open("rb") as lines:
                lines.seek(max(0, log.stat().st_size - TAIL_BYTES))
                texts.append(f"--- {log.name}\n{lines.read().decode(errors='replace')}")
        return "\n".join(texts)

    def _must_live(self) -> bool:
        if (code := self._process.poll()) is not None:
            raise RuntimeError(f"{self.name} ended with {code}\n{self.report()}")
        return True

    def _close(self) -> None:
        self._process.wait(DIE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # the child ended before it read all input
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        living.discard(self)


def wait_until(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Wait until the condition holds; TimeoutError if it does not hold after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(POLL_SECONDS)
