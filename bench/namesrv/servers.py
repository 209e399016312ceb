"""Runs the two name servers under measurement on the server core, and measures their cost.

Memory is what the kernel reports in `smaps_rollup`; CPU time comes from `/proc/<pid>/stat` in steps
of 10 ms, which are small compared with a round of a second or more.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import SERVER_CORE, TICKS, pinned
from gantrymq.interop.child import wait_until
from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import HEAP, java_command, write_properties
from gantrymq.interop.toolchain import JarSet, Java, release
from gantrymq.interop.wire import Request, connect

JAVA_RELEASE = "5.3.3"
JAVA_HEAP = ("-Xms256m", "-Xmx512m")
READY_SECONDS = 60.0
STOP_SECONDS = 20.0
GANTRY, JAVA = "Gantry", "Java"


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of mapped and present pages, and the same with shared pages divided by their sharers."""

    rss: float
    pss: float


class NameServer:
    """A running name server."""

    def __init__(self, name: str, port: int, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.port = port
        self._process = process

    @property
    def process_id(self) -> int:
        return self._process.pid

    def answers(self) -> bool:
        """Whether the server answers requests; RuntimeError if it has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self._process.returncode}")
        try:
            with connect(f"127.0.0.1:{self.port}") as connection:
                return connection.ask(Request(206)).code == 0
        except OSError:
            return False

    def cpu_seconds(self) -> float:
        """User and system time since the start of the server."""
        stat = Path(f"/proc/{self.process_id}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS

    def memory(self) -> Memory:
        rollup = Path(f"/proc/{self.process_id}/smaps_rollup").read_text()
        sizes = {key: int(size) / 1024 for key, size in re.findall(r"(\w+): +(\d+) kB", rollup)}
        return Memory(sizes["Rss"], sizes["Pss"])


def java_release() -> Java:
    """RocketMQ's jars, which are fetched the first time."""
    return release(JarSet.SERVERS, JAVA_RELEASE)


def java_program(java: Java, home: Path, *more_class_path: Path) -> list[str]:
    """The command line of a JVM as a user starts it: all compilers on, the default collector."""
    command = [word for word in java_command(java, home) if word not in HEAP]
    class_path = ":".join([java.class_path, *map(str, more_class_path)])
    return [command[0], *JAVA_HEAP, *command[1:-1], class_path]


@contextmanager
def both() -> Iterator[dict[str, NameServer]]:
    """Both name servers, empty and running."""
    with ExitStack() as stack:
        yield {
            JAVA: stack.enter_context(_java()),
            GANTRY: stack.enter_context(_gantry()),
        }


@contextmanager
def _java() -> Iterator[NameServer]:
    with tempfile.TemporaryDirectory(prefix="bench-java-") as home:
        command = java_program(java_release(), Path(home))
        command.append("org.apache.rocketmq.namesrv.NamesrvStartup")
        with _running(JAVA, command, Path(home), {}) as server:
            yield server


@contextmanager
def _gantry() -> Iterator[NameServer]:
    program = Path(sys.executable).parent / "gantry"
    with tempfile.TemporaryDirectory(prefix="bench-gantry-") as home:
        command = [str(program), "namesrv"]
        settings = {"metricsPort": str(free_port())}  # on, as by default
        with _running(GANTRY, command, Path(home), settings) as server:
            yield server


@contextmanager
def _running(
    name: str, command: list[str], home: Path, settings: Mapping[str, str]
) -> Iterator[NameServer]:
    port = free_port()
    config = write_properties(
        home / "namesrv.properties",
        {
            "listenPort": str(port),
            "bindAddress": "127.0.0.1",
            "kvConfigPath": str(home / "kvConfig.json"),
            **settings,
        },
    )
    with (home / "out.log").open("wb") as log, pinned(SERVER_CORE):
        process = subprocess.Popen(
            [*command, "-c", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
        )
    server = NameServer(name, port, process)
    try:
        wait_until(server.answers, f"{name} answers", READY_SECONDS)
        yield server
    except (RuntimeError, TimeoutError):
        sys.stderr.write((home / "out.log").read_text(errors="replace")[-4000:])
        raise
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
