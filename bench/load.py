"""Builds the load program with `cc` at first use, and runs it on the load core.

It is written in C because Python would be the limit; `ceiling` measures it with a trivial server.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import LOAD_CORE, SERVER_CORE, pinned
from gantrymq.interop.ports import free_port

SOURCE = Path(__file__).resolve().parent / "native" / "load.c"
LISTEN_SECONDS = 10.0
EXTRA_SECONDS = 30.0  # in addition to the run's length, of which the program needs milliseconds


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of clients, and of requests that each has under way."""

    connections: int
    depth: int

    @property
    def text(self) -> str:
        """The shape in words, for tables."""
        return f"{self.connections} connections x {self.depth}"


# Real clients ask one question at a time; deep pipelines show the cost of a request without
# wake-ups.
CLIENTS = Shape(64, 1)
PIPELINES = Shape(8, 32)


@dataclass(frozen=True, slots=True)
class Load:
    """The result of one run of the load program."""

    answers: int
    accepted: int  # answers with code 0
    bytes: int
    seconds: float
    own_cpu_seconds: float
    p50_us: float
    p99_us: float
    max_us: float
    longest_gap_us: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


@dataclass(frozen=True, slots=True)
class Trivial:
    """A server that answers every request without parsing it."""

    port: int
    process_id: int


@contextmanager
def trivial_server(program: Sequence[str], answer: bytes, *options: str) -> Iterator[Trivial]:
    """Run the program with a port, a file that holds the answer, and these options."""
    port = free_port()
    with tempfile.NamedTemporaryFile() as file:
        file.write(answer)
        file.flush()
        with pinned(SERVER_CORE):
            server = subprocess.Popen([*program, str(port), file.name, *options])
        with server:
            try:
                _wait_for(port)
                yield Trivial(port, server.pid)
            finally:
                server.kill()


def _wait_for(port: int) -> None:
    gives_up_at = time.monotonic() + LISTEN_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > gives_up_at:
                raise
            time.sleep(0.02)
        else:
            return


class LoadProgram:
    """The compiled program, in a folder that it shares with the request files."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / "load"
        command = ["cc", "-O2", "-std=gnu11", "-o", str(self._program), str(SOURCE)]
        subprocess.run(command, check=True)

    def start(
        self, port: int, frames: Path, shape: Shape, seconds: float, rate: float = 0.0
    ) -> subprocess.Popen[str]:
        """Start a run; `rate` is in requests a second, and 0 means as many as the shape allows."""
        numbers = (port, shape.connections, shape.depth, seconds, rate)
        command = [str(self._program), "ask", *map(str, numbers), str(frames)]
        with pinned(LOAD_CORE):
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def run(self, port: int, frames: Path, shape: Shape, seconds: float, rate: float = 0.0) -> Load:
        """Run the program, and wait for its result."""
        return result(self.start(port, frames, shape, seconds, rate), seconds)

    @contextmanager
    def answering(self, answer: bytes, *, sleeps: bool = False) -> Iterator[Trivial]:
        """The trivial server in C, which gives this frame as every answer. It polls, unless it
        `sleeps`."""
        options = ["sleep"] if sleeps else []
        with trivial_server([str(self._program), "answer"], answer, *options) as server:
            yield server


def result(running: subprocess.Popen[str], seconds: float) -> Load:
    """Wait for a run that was started; returns its result."""
    try:
        text, _ = running.communicate(timeout=seconds + EXTRA_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        raise
    if running.returncode != 0:
        raise RuntimeError(f"the load program ended with {running.returncode}")
    return Load(**json.loads(text))
