"""A pair in C that replicates and looks at nothing: what the system's calls take of a send.

It does what no pair can leave out: it reads, writes its log, sends it on, and answers when the
slave, a process of its own, has written it too. Sums, queues, an index, properties, limits, roles
and clocks are left out. So Java's time by this one's is the most that a pair which makes these
calls could have had.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.load import Trivial, trivial_server
from bench.machine import family
from bench.store.store_workers import cpu_clock

FLOOR: Final = "trivial pair in C"
SOURCE: Final = Path(__file__).resolve().parent.parent / "native" / "pair.c"
# As long as Java's to a send of one message.
HEADER: Final = (
    b'{"code":0,"extFields":{"queueId":"0","TRACE_ON":"true","MSG_REGION":"DefaultRegion",'
    b'"msgId":"7F00000100002A9F0000000000000000","queueOffset":"1000"},"flag":1,"language":"JAVA",'
    b'"opaque":1000,"serializeTypeCurrentRPC":"JSON","version":435}'
)


class TrivialPair:
    """The running pair, with what a round asks of a group."""

    name = FLOOR

    def __init__(self, server: Trivial, logs: Path) -> None:
        self._process_ids = family(server.process_id)
        self._logs = logs
        self.port = server.port

    def process_ids(self) -> Sequence[int]:
        return self._process_ids

    def settle(self) -> None:
        """It has no roles."""

    def end_round(self) -> None:
        """Its logs begin anew, in pages that the system has to find, as those of brokers are."""
        for log in self._logs.iterdir():
            os.truncate(log, 0)

    def stored(self) -> None:
        """It does not count: what was answered is all that is known."""

    def wait_for_followers(self) -> float:
        """What was answered is at the slave."""
        return 0.0

    def cpu_seconds(self) -> tuple[float, float]:
        """The master's, and the slave's."""
        master, slave = (time.clock_gettime(cpu_clock(each)) for each in self._process_ids)
        return master, slave


@contextmanager
def trivial_pair(folder: Path) -> Iterator[TrivialPair]:
    """Compiled on the spot; killed at the end."""
    program = folder / "pair"
    subprocess.run(["cc", "-O2", "-std=gnu11", "-o", str(program), str(SOURCE)], check=True)
    head = len(HEADER).to_bytes(4, "big") + HEADER
    answer = len(head).to_bytes(4, "big") + head
    logs = folder / "floor"
    logs.mkdir()
    with trivial_server([str(program), str(logs)], answer) as server:
        yield TrivialPair(server, logs)
