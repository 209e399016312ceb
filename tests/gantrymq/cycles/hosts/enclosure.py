"""Makes the namespaces of a run: networks, mounts and processes that are invisible outside.

The program within is process 1 of its own process namespace: when it ends, however it does, the
kernel kills all that it started, and networks and mounts go with them. It ends when its standard
input does, so it ends when its parent is killed. Nothing has to be cleaned up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parents[3]
UNSHARE: Final = (
    *("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc"),
    *("--kill-child=KILL", "--propagation", "private"),
)
_TRY: Final = "mount -t tmpfs none /run && ip link add hub type bridge && ip netns add a"
_TRY_SECONDS: Final = 20.0


def refusal() -> str | None:
    """Why there can be no enclosure here, or None."""
    command = [*UNSHARE, "sh", "-c", _TRY]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TRY_SECONDS, check=False
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else None


@contextmanager
def enclosed(module: str, arguments: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the module in namespaces of its own; what it prints is for the caller to read."""
    command = [*UNSHARE, sys.executable, "-m", module, *arguments]
    places = {**os.environ, "PYTHONPATH": str(SOURCES)}
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=places,
        ) as process,
    ):
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def enter(end: Callable[[int], None] = os._exit) -> None:
    """Within: end when the maker of the enclosure does, and hide the machine's own networks."""
    threading.Thread(target=_watch, args=(end,), daemon=True, name="enclosure").start()
    subprocess.run(["mount", "-t", "tmpfs", "gantry-run", "/run"], check=True)


def _watch(end: Callable[[int], None]) -> None:
    sys.stdin.read()
    end(1)
