"""The floor of replication: it answers what both of its logs have, and nothing else."""

from __future__ import annotations

import socket
from pathlib import Path

from bench.ha_floor import HEADER, trivial_pair

FRAMES = b"".join(len(body).to_bytes(4, "big") + body for body in (b"a" * 300, b"b", b"c" * 70_000))
ANSWER_BYTES = 4 + 4 + len(HEADER)


def received(client: socket.socket, size: int) -> bytes:
    seen = b""
    while len(seen) < size and (more := client.recv(size - len(seen))):
        seen += more
    return seen


def test_all_that_is_answered_is_in_both_logs(tmp_path: Path) -> None:
    with (
        trivial_pair(tmp_path) as pair,
        socket.create_connection(("127.0.0.1", pair.port), timeout=10) as client,
    ):
        client.sendall(FRAMES[:310])  # the last frame comes in two pieces
        assert received(client, 2 * ANSWER_BYTES).count(HEADER) == 2
        client.sendall(FRAMES[310:])
        assert received(client, ANSWER_BYTES).endswith(HEADER)
        logs = tmp_path / "floor"
        assert (logs / "master").read_bytes() == FRAMES
        assert (logs / "slave").read_bytes() == FRAMES
        assert all(each > 0 for each in pair.cpu_seconds())
        pair.settle()
        assert [log.stat().st_size for log in logs.iterdir()] == [0, 0]
