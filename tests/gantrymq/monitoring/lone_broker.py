"""Runs a name server and a broker with a small disk of its own, and brings trouble about."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, final

from gantrymq.interop.authority import Authority, client_context
from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import Broker, NameServer, gantry_broker, gantry_name_server
from gantrymq.interop.wire import Request
from gantrymq.wire.codes import RequestCode

DISK_BYTES: Final = 256 << 20
LARGER_BYTES: Final = 2 << 30
SERIES_MAX: Final = 50
SETTINGS: Final = {
    "brokerName": "broker-lone",
    "brokerClusterName": "lone",
    "mappedFileSizeCommitLog": str(4 << 20),
    "metricsOtelCardinalityLimit": str(SERIES_MAX),
    "messageDelayLevel": "1s 2s 3s",
}

CERTIFICATE: Final = "lone-broker"
ANSWER_SECONDS: Final = 10.0

# The process is stopped for 0.6 s of each 1.2 s. The loop measures its lag a second after the last
# measurement, which is in the middle of the next stop.
STOP_SECONDS: Final = 0.6
RUN_SECONDS: Final = 0.6


@final
@dataclass(frozen=True, slots=True)
class LoneBroker:
    """The two processes, their metrics addresses, and the broker's disk."""

    names: NameServer
    broker: Broker
    disk: Path
    authority: Authority
    targets: tuple[str, str]

    @property
    def log(self) -> Path:
        """The folder of the commit log."""
        return self.disk / "store" / "commitlog"

    def enlarge(self) -> None:
        """Enlarge the volume, as an administrator would."""
        options = f"remount,size={LARGER_BYTES}"
        subprocess.run(["mount", "-o", options, str(self.disk)], check=True)

    def restart_with(self, settings: Mapping[str, str]) -> None:
        """Change the broker's configuration file, and restart the broker."""
        with (self.broker.folder / "broker.properties").open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        self.broker.kill()
        self.broker.start()

    def log_files(self) -> set[Path]:
        """The existing files of the commit log."""
        return set(self.log.iterdir())

    def lose(self, files: set[Path]) -> None:
        """Stop the broker, delete these files of its log, and start it without them."""
        assert self.broker.child is not None
        self.broker.child.stop()
        for file in files:
            file.unlink()
        self.broker.start()

    def renew_certificate(self, valid: timedelta) -> None:
        """Replace the broker's certificate. The broker uses the new one for the next connection."""
        self.authority.identity(CERTIFICATE, valid)
        host, _, port = self.broker.address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), ANSWER_SECONDS) as connection,
            client_context().wrap_socket(connection),
        ):
            return

    def register_damaged(self) -> None:
        """Send a registration with a wrong checksum to the name server, which refuses it."""
        ext = {
            "brokerName": "broker-lone",
            "brokerAddr": self.broker.address,
            "clusterName": "lone",
            "haServerAddr": self.broker.address,
            "brokerId": "0",
            "bodyCrc32": "1",
        }
        answer = self.names.ask(Request(RequestCode.REGISTER_BROKER, ext, b"{}"))
        assert answer.code == 1, answer

    @contextmanager
    def stalling(self) -> Iterator[None]:
        """Stop the broker's process for a moment, again and again, until the block ends."""
        is_over = threading.Event()

        def stall() -> None:
            while not is_over.wait(RUN_SECONDS):
                self.broker.pause()
                is_over.wait(STOP_SECONDS)
                self.broker.resume()

        thread = threading.Thread(target=stall, name="stall")
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


@contextmanager
def running(folder: Callable[[str], Path]) -> Iterator[LoneBroker]:
    """Run the name server and the broker, with topics."""
    ports = free_port(), free_port()
    with ExitStack() as stack:
        disk = folder("disk")
        options = f"size={DISK_BYTES}"
        command = ["mount", "-t", "tmpfs", "-o", options, "gantry-monitoring", str(disk)]
        subprocess.run(command, check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=True)
        names = stack.enter_context(
            gantry_name_server(folder("names"), {"metricsPort": str(ports[0])})
        )
        store = disk / "store"
        authority = Authority(folder("authority"))
        settings = {
            **SETTINGS,
            **authority.identity(CERTIFICATE).settings("server"),
            "metricsPort": str(ports[1]),
            "storePathRootDir": str(store),
            "storePathCommitLog": str(store / "commitlog"),
        }
        broker = stack.enter_context(gantry_broker(folder("broker"), [names], settings))
        for topic in ("orders", "ballast"):
            broker.create_topic(topic, 2)
        targets = f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}"
        yield LoneBroker(names, broker, disk, authority, targets)
