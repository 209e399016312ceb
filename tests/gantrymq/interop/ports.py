"""Finds free loopback ports, below the range that the kernel uses for outgoing connections."""

import itertools
import os
import socket
from collections.abc import Iterator, Sequence

# INTEROP_PORTS gives each of several parallel runs its own range.
FIRST, LAST = map(int, os.environ.get("INTEROP_PORTS", "20000-32000").split("-"))
STEP = 8
WIDTH = (LAST - FIRST) // STEP

# Each run starts at another port, so that two runs on one machine seldom try the same one.
_bases: Iterator[int] = (
    FIRST + (os.getpid() * 37 + turn) % WIDTH * STEP for turn in itertools.count()
)


def free_port(also: Sequence[int] = ()) -> int:
    """A free port; the ports at the given distances are free as well."""
    for _ in range(WIDTH):
        base = next(_bases) + 3  # leaves room for a neighbour at -2
        if all(_is_free(base + distance) for distance in (0, *also)):
            return base
    raise RuntimeError("no free port on loopback")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
