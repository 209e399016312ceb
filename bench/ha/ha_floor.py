"""Runs a minimal replicating pair in C: the cost of the system calls that a send needs.

It does only what every pair must do: read the send, write the log, send it to the slave, and answer
when the slave, a process of its own, has written it too. Checksums, queues, an index, properties,
limits, roles and clocks are left out. So the ratio of Java's time to this pair's is the most that a
pair with these system calls could reach.
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
# as long as Java's answer to a send of one message
HEADER: Final = (
    b'{"code":0,"extFields":{"queueId":"0","TRACE_ON":"true","MSG_REGION":"DefaultRegion",'
    b'"msgId":"7F00000100002A9F0000000000000000","queueOffset":"1000"},"flag":1,"language":"JAVA",'
    b'"opaque":1000,"serializeTypeCurrentRPC":"JSON","version":435}'
)


class TrivialPair:
    """The running pair, with the interface of a group."""

    name = FLOOR

    def __init__(self, server: Trivial, logs: Path) -> None:
        self._process_ids = family(server.process_id)
        self._logs = logs
        self.port = server.port

    def process_ids(self) -> Sequence[int]:
        return self._process_ids

    def settle(self) -> None:
        """Nothing to wait for: the pair has no roles."""

    def end_round(self) -> None:
        """Start new logs, in pages that the system has to allocate, as a broker's new pages are."""
        for log in self._logs.iterdir():
            os.truncate(log, 0)

    def stored(self) -> None:
        """Not counted: only the answered sends are known."""

    def wait_for_followers(self) -> float:
        """Nothing to wait for: the slave has every answered send."""
        return 0.0

    def cpu_seconds(self) -> tuple[float, float]:
        """CPU seconds of the master, and of the slave."""
        master, slave = (time.clock_gettime(cpu_clock(each)) for each in self._process_ids)
        return master, slave


@contextmanager
def trivial_pair(folder: Path) -> Iterator[TrivialPair]:
    """The pair, compiled on the spot; killed at the end."""
    program = folder / "pair"
    subprocess.run(["cc", "-O2", "-std=gnu11", "-o", str(program), str(SOURCE)], check=True)
    head = len(HEADER).to_bytes(4, "big") + HEADER
    answer = len(head).to_bytes(4, "big") + head
    logs = folder / "floor"
    logs.mkdir()
    with trivial_server([str(program), str(logs)], answer) as server:
        yield TrivialPair(server, logs)
