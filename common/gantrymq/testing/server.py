"""A real name server and a real broker in a process of their own, for clients of any kind.

    with StandaloneServer(folder) as server:
        ... name_servers=server.name_servers ...

It listens on free ports of loopback. Invariant: when `start` is back it takes messages, and when
`stop` is back the process is gone.
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

START_SECONDS: Final = 60.0  # a loaded machine of a CI; it takes one
STOP_SECONDS: Final = 30.0
READY: Final = "Gantry is up"

# Between choosing a port and listening on it somebody else may take it.
ATTEMPTS_MAX: Final = 5


class ServerFailedError(Exception):
    """It did not start; the text has what it said."""


@final
class StandaloneServer:
    """`gantry standalone`, as a child. `start`, then `stop`, or by `with`; its data outlive it."""

    def __init__(self, data: Path, flags: Sequence[str] = ()) -> None:
        """`flags` are those of `gantry standalone`, beyond the ports."""
        self.data = data
        self._flags = tuple(flags)
        self._process: subprocess.Popen[str] | None = None
        self._ports = (0, 0, 0, 0)
        self.log = data / "standalone.log"

    @property
    def name_servers(self) -> str:
        """What clients are given."""
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
        """Of the child."""
        assert self._process is not None, "it is not running"
        return self._process.pid

    def start(self) -> None:
        """Raises ServerFailedError with what it said."""
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
        """After a `stop` or `kill`, on the same ports, so that clients find it again."""
        if not self._comes_up():
            raise ServerFailedError(
                f"gantry standalone did not start again:\n{self.log.read_text(errors='replace')}"
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and wait; its exit code. It is killed when it does not end."""
        return self._end(number)

    def kill(self) -> int:
        """As a crash would end it."""
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
        """Whether it says that it is up, before it ends."""
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
    """Of name server, broker (and two below it), metrics and console, all different."""
    with socket.socket() as names, socket.socket() as metrics, socket.socket() as console:
        for probe in (names, metrics, console):
            probe.bind(("127.0.0.1", 0))
        port = _free_pair()
        chosen = [probe.getsockname()[1] for probe in (names, metrics, console)]
    return chosen[0], port, chosen[1], chosen[2]


def _free_pair() -> int:
    """A port that is free, as is the one two below it."""
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
    """Without settings that somebody made for servers of his own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}


def _says_it_is_up(output: IO[str]) -> bool:
    """Whether it does before it ends, and in its time."""
    gives_up_at = time.monotonic() + START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while (left := gives_up_at - time.monotonic()) > 0:
            if selector.select(left):
                line = output.readline()
                if not line or line.startswith(READY):
                    return bool(line)
    return False
