"""Runs a real name server and broker in a child process, for clients of any kind.

    with StandaloneServer(folder) as server:
        ... name_servers=server.name_servers ...

The server listens on free ports of the loopback address. Invariant: when `start` returns, the
server accepts messages; when `stop` returns, the process has ended.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, final

START_SECONDS: Final = 60.0  # for a loaded CI machine; usually one second
STOP_SECONDS: Final = 30.0
READY: Final = "Gantry is up"

# Another process may take a port after it was chosen and before the server listens on it.
ATTEMPTS_MAX: Final = 5


class ServerFailedError(Exception):
    """The server did not start; the text has its output."""


@final
class StandaloneServer:
    """`gantry standalone` as a child process. Its data outlive it."""

    def __init__(self, data: Path, flags: Sequence[str] = ()) -> None:
        """`flags` are options of `gantry standalone` other than the ports."""
        self.data = data
        self._flags = tuple(flags)
        self._process: subprocess.Popen[str] | None = None
        self._ports = (0, 0, 0, 0)
        self.log = data / "standalone.log"

    @property
    def name_servers(self) -> str:
        """The address that a test passes to its clients."""
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self._ports[1]}"

    @property
    def metrics_url(self) -> str:
        return f"http://127.0.0.1:{self._ports[2]}/metrics"

    @property
    def console_url(self) -> str:
        return f"http://127.0.0.1:{self._ports[3]}/"

    @property
    def pid(self) -> int:
        """The process id of the child."""
        assert self._process is not None, "it is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the server; raises ServerFailedError with its output if it does not start."""
        self.data.mkdir(parents=True, exist_ok=True)
        for attempt in range(ATTEMPTS_MAX):
            self._ports = free_ports()
            if self._comes_up():
                return
            said = self.log.read_text(errors="replace")
            self.kill()
            if "taken by" not in said or attempt + 1 == ATTEMPTS_MAX:
                raise ServerFailedError(f"gantry standalone did not start:\n{said}")

    def start_again(self) -> None:
        """Start on the same ports after `stop` or `kill`, so that clients find the server again."""
        if not self._comes_up():
            raise ServerFailedError(
                f"gantry standalone did not start again:\n{self.log.read_text(errors='replace')}"
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the server to end, and wait; returns its exit code. Kills it if it does not end."""
        return self._end(number)

    def kill(self) -> int:
        """End the server as a crash does."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        assert process is not None, "it is not running"
        process.send_signal(number)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            assert process.stdout is not None
            process.stdout.close()

    def _comes_up(self) -> bool:
        """Whether the server reports that it is up before it ends."""
        names, broker, metrics, console = self._ports
        ports = {
            "--namesrv-port": names,
            "--broker-port": broker,
            "--metrics-port": metrics,
            "--console-port": console,
        }
        flags = [text for flag, port in ports.items() for text in (flag, str(port))]
        command = [sys.executable, "-m", "gantrymq.app", "standalone", "--data", str(self.data)]
        with self.log.open("w") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*command, *flags, *self._flags],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=_environment(),
            )
        assert self._process.stdout is not None
        return _says_it_is_up(self._process.stdout)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.stop()


def free_ports() -> tuple[int, int, int, int]:
    """Different free ports for name server, broker (and two below it), metrics and console."""
    with socket.socket() as names, socket.socket() as metrics, socket.socket() as console:
        for probe in (names, metrics, console):
            probe.bind(("127.0.0.1", 0))
        port = _free_pair()
        chosen = [probe.getsockname()[1] for probe in (names, metrics, console)]
    return chosen[0], port, chosen[1], chosen[2]


def _free_pair() -> int:
    """A free port; the port two below it is free as well."""
    while True:
        with socket.socket() as probe, socket.socket() as below:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            try:
                below.bind(("127.0.0.1", port - 2))
            except OSError:
                continue
            return port


def _environment() -> dict[str, str]:
    """The environment without GANTRY_ variables, which may be meant for other servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}


def _says_it_is_up(output: IO[str]) -> bool:
    """Whether the server reports in time that it is up, before it ends."""
    gives_up_at = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while (left := gives_up_at - time.monotonic()) > 0:
            if selector.select(left):
                line = output.readline()
                if not line or line.startswith(READY):
                    return bool(line)
    return False
