"""Tests the floor of replication: it answers what both of its logs have, and nothing else."""

from __future__ import annotations

import os
import select
import signal
import socket
from functools import partial
from pathlib import Path

from bench.ha.ha_floor import HEADER, TrivialPair, trivial_pair
from gantrymq.interop.child import wait_until

FRAMES = b"".join(len(body).to_bytes(4, "big") + body for body in (b"a" * 300, b"b", b"c" * 70_000))
ANSWER_BYTES = 4 + 4 + len(HEADER)
WAIT_SECONDS = 10


def received(client: socket.socket, size: int) -> bytes:
    seen = b""
    while len(seen) < size and (more := client.recv(size - len(seen))):
        seen += more
    return seen


def connected(pair: TrivialPair) -> socket.socket:
    return socket.create_connection(("127.0.0.1", pair.port), timeout=WAIT_SECONDS)


def holds(log: Path, size: int) -> bool:
    return log.stat().st_size == size


def test_answered_sends_are_in_both_logs(tmp_path: Path) -> None:
    with trivial_pair(tmp_path) as pair, connected(pair) as client:
        client.sendall(FRAMES[:310])  # the last frame comes in two pieces
        assert received(client, 2 * ANSWER_BYTES).count(HEADER) == 2
        client.sendall(FRAMES[310:])
        assert received(client, ANSWER_BYTES).endswith(HEADER)
        logs = tmp_path / "floor"
        assert (logs / "master").read_bytes() == FRAMES
        assert (logs / "slave").read_bytes() == FRAMES
        assert all(each > 0 for each in pair.cpu_seconds())
        pair.end_round()
        assert [log.stat().st_size for log in logs.iterdir()] == [0, 0]


def test_sends_that_the_slave_lacks_are_not_answered(tmp_path: Path) -> None:
    with trivial_pair(tmp_path) as pair, connected(pair) as client:
        slave = pair.process_ids()[1]
        os.kill(slave, signal.SIGSTOP)
        log = tmp_path / "floor" / "master"
        with connected(pair) as leaves:
            for number, connection in enumerate((leaves, leaves, client), 1):
                connection.sendall(FRAMES)
                wait_until(partial(holds, log, number * len(FRAMES)), "it is logged", WAIT_SECONDS)
            # A server that answered too early would have answered the first group by now.
            assert select.select([leaves], [], [], 0)[0] == []
        os.kill(slave, signal.SIGCONT)
        assert received(client, 3 * ANSWER_BYTES).count(HEADER) == 3
