"""Runs the brokers that are read from: Gantry, and Kafka in KRaft mode, with default settings.

Each is a process of its own on loopback, with its data in a folder that is removed with it.
"""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from bench.spark import processes
from gantrymq.interop.child import wait_until
from gantrymq.interop.ports import free_port
from gantrymq.interop.toolchain import jars_of
from gantrymq.testing.server import StandaloneServer

JARS: Final = Path(__file__).resolve().parent / "jars"
LARGE_DISK: Final = "/var/tmp"  # noqa: S108 - /tmp is memory on some machines
QUEUES: Final = 4
READY_SECONDS: Final = 90.0
STOP_SECONDS: Final = 30.0


@final
@dataclass(frozen=True, slots=True)
class BrokerProcess:
    """A running broker."""

    address: str
    """The address of its bootstrap server or name server."""
    process_id: int

    def process_ids(self) -> Sequence[int]:
        """The processes to stop while the other side has its turn."""
        return processes.tree(self.process_id)

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self.process_id)


@contextmanager
def gantry() -> Iterator[BrokerProcess]:
    """A name server and a broker of Gantry."""
    with tempfile.TemporaryDirectory(prefix="bench-gantry-", dir=LARGE_DISK) as folder:
        settings = ("--set", f"defaultTopicQueueNums={QUEUES}")
        with StandaloneServer(Path(folder), settings) as server:
            yield BrokerProcess(server.name_servers, server.pid)


@contextmanager
def kafka() -> Iterator[BrokerProcess]:
    """A Kafka broker that is its own controller."""
    with tempfile.TemporaryDirectory(prefix="bench-kafka-", dir=LARGE_DISK) as name:
        folder, port = Path(name), free_port()
        settings = _kafka_settings(folder, port)
        java = ("java", "-Xms512m", "-Xmx1g", "-cp", jars_of(JARS / "kafka.xml"))
        format_storage = ("kafka.tools.StorageTool", "format", "-t", _cluster_id(), "-c")
        subprocess.run([*java, *format_storage, settings], check=True, capture_output=True)
        with (folder / "kafka.log").open("wb") as log:
            process = subprocess.Popen(
                [*java, "kafka.Kafka", settings], stdout=log, stderr=subprocess.STDOUT
            )
        try:
            wait_until(lambda: _listens(process, port), "Kafka listens", READY_SECONDS)
            yield BrokerProcess(f"127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _kafka_settings(folder: Path, port: int) -> Path:
    controller = free_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "log"),
        "num.partitions": str(QUEUES),
        # A single broker can have only one replica.
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def _cluster_id() -> str:
    """A UUID in Kafka's notation."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"Kafka ended with {process.returncode}: see its log")
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def pinned(pom: str, artifact: str) -> str:
    """The version of an artifact in a pom."""
    text = (JARS / pom).read_text()
    found = re.search(rf"<artifactId>{re.escape(artifact)}</artifactId>\s*<version>(.+?)<", text)
    assert found is not None, f"{pom} names no {artifact}"
    return found[1]
