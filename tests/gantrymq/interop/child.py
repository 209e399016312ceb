"""Child processes of the tests: started, waited for by a real condition, ended by their id.

Whatever a child prints goes to `<folder>/out.log`; `report` shows the ends of all its logs.
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
TERMINATE_SECONDS = 2.0  # a Java broker would take 10 s and more to say goodbye
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
        """Its process id."""
        return self._process.pid

    def wait(self, seconds: float) -> None:
        """Until it has ended by itself."""
        self._process.wait(seconds)
        self._close()

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for something this child should bring about; say what its logs say if not."""
        try:
            wait_until(lambda: self._must_live() and condition(), what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.report()}") from None

    def pause(self) -> None:
        """Stop its clock: connected, and silent."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, with no chance to say goodbye."""
        self._process.kill()
        self._close()

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not."""
        self.resume()
        self._process.terminate()
        try:
            self._process.wait(TERMINATE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def finish(self, seconds: float) -> None:
        """Ask it to end, and insist that it does by itself."""
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
                with contextlib.suppress(BrokenPipeError):  # what it did not live to read
                    pipe.close()
        living.discard(self)


def wait_until(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Ask until the answer is yes; TimeoutError when it is still no after that many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(POLL_SECONDS)
