"""Runs Java's own client as the load: one process per broker and header encoding.

The processes run on the load core. java/LoadClient.java defines the orders.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.broker.broker_servers import Broker
from bench.codec.codec import Worker
from bench.machine import LOAD_CORE, pinned
from bench.namesrv.servers import JAVA_RELEASE, java_program
from gantrymq.interop.toolchain import JarSet, release

JAVA_SOURCE = Path(__file__).resolve().parent.parent / "java" / "LoadClient.java"
ENCODINGS: Mapping[str, str] = {"JSON": "JSON", "binary": "ROCKETMQ"}


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of an order to send."""

    messages: int
    refused: int
    seconds: float
    p50_us: float
    p99_us: float
    max_us: float

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


@dataclass(frozen=True, slots=True)
class Consumed:
    """The result of an order to read."""

    messages: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


class LoadClient(Worker):
    """A client of one broker."""

    def sent(self, *order: object) -> Sent:
        messages, refused, *figures = self.answer(*order).split()
        return Sent(int(messages), int(refused), *map(float, figures))

    def consumed(self, *order: object) -> Consumed:
        messages, seconds = self.answer(*order).split()
        return Consumed(int(messages), float(seconds))


class LoadClients:
    """Starts clients; compiles the program once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._classes = folder / "classes"
        self._java = release(JarSet.CLIENT, JAVA_RELEASE)
        command = ["javac", "-nowarn", "-cp", self._java.class_path, "-d", str(self._classes)]
        subprocess.run([*command, str(JAVA_SOURCE)], check=True)

    @contextmanager
    def of(
        self, brokers: Mapping[str, Broker], encoding: str, topic: str
    ) -> Iterator[dict[str, LoadClient]]:
        """One client for each broker, with headers in this encoding."""
        with ExitStack() as stack:
            yield {
                name: stack.enter_context(self._one(broker, encoding, topic))
                for name, broker in brokers.items()
            }

    @contextmanager
    def _one(self, broker: Broker, encoding: str, topic: str) -> Iterator[LoadClient]:
        home = self._folder / f"client-{broker.port}-{encoding}"
        home.mkdir(exist_ok=True)
        java, *options = java_program(self._java, home, self._classes)
        serialize = f"-Drocketmq.serialize.type={ENCODINGS[encoding]}"
        arguments = [JAVA_SOURCE.stem, broker.name_server.address, topic]
        with (home / "out.log").open("ab") as log, pinned(LOAD_CORE):
            process = subprocess.Popen(
                [java, serialize, *options, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        with process:
            try:
                yield LoadClient(process)
            except EOFError as error:
                error.add_note(f"{broker.name}'s client: {(home / 'out.log').read_text()[-2000:]}")
                raise
            finally:
                process.kill()
