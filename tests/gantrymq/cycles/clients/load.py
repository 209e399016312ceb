"""Producers and consumers at work: Java's in one process, ours in another, both on one host.

What they were told lies in files, which are read as they grow.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, final

from gantrymq.cycles.hosts.enclosure import SOURCES
from gantrymq.cycles.hosts.network import Host
from gantrymq.cycles.records import Record, RecordReader
from gantrymq.interop.child import Child
from gantrymq.interop.servers import java_command
from gantrymq.interop.toolchain import JarSet, release

JAVA_RELEASE: Final = "5.3.3"
PRODUCERS: Final = ("java-sync", "java-async", "python-send")
CONSUMERS: Final = ("java-push", "python-push")
RATE_MIN: Final = 2000
"""So many a second must be acknowledged when a fault strikes."""
STOP_SECONDS: Final = 60.0
PER_SECOND: Final[Mapping[str, int]] = {"java-sync": 1100, "java-async": 1000, "python-send": 700}


@final
class Load:
    """The producers and consumers of one group, which start when the load is created."""

    def __init__(self, folder: Path, host: Host, names: str, topic: str) -> None:
        self._files = {name: RecordReader(folder / f"{name}.records") for name in STREAMS}
        pace = {name: str(count) for name, count in PER_SECOND.items()}
        java = release(JarSet.CYCLES, JAVA_RELEASE)
        own = folder / "java"
        own.mkdir()
        program = [*java_command(java, own), java.driver, names, topic, str(folder)]
        paces = (pace["java-sync"], pace["java-async"])
        ours = folder / "python"
        ours.mkdir()
        module = (sys.executable, "-m", "gantrymq.cycles.clients.python_clients")
        command = host.command(*module, names, topic, str(folder), pace["python-send"])
        places = {"PYTHONPATH": str(SOURCES)}
        self._children = [
            Child("Java's clients", host.command(*program, *paces), own, piped=True),
            Child("our clients", command, ours, places, piped=True),
        ]

    def take(self, name: str) -> Iterator[Record]:
        """What this stream brought since it was asked last."""
        return self._files[name].take()

    def stop_sending(self) -> None:
        """Consumers go on."""
        for child in self._children:
            child.input.write(b"\n")
            child.input.flush()
        for child in self._children:
            has_said = select.select([child.output], [], [], STOP_SECONDS)[0]
            assert has_said, f"the sends do not end\n{child.report()}"
            said = child.output.readline()
            assert said == b"stopped\n", f"{said!r}\n{child.report()}"

    def stop(self) -> None:
        for child in self._children:
            child.kill()

    def report(self) -> str:
        return "\n".join(child.report() for child in self._children)


STREAMS: Final = (*PRODUCERS, *CONSUMERS)
