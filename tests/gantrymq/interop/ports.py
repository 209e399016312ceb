"""Free loopback ports, below the range from which the kernel takes outgoing ones."""

import itertools
import os
import socket
from collections.abc import Iterator, Sequence

# INTEROP_PORTS gives runs that are side by side ranges of their own.
FIRST, LAST = map(int, os.environ.get("INTEROP_PORTS", "20000-32000").split("-"))
STEP = 8
WIDTH = (LAST - FIRST) // STEP

# Each run starts elsewhere, so that two of them on one machine seldom try the same port.
_bases: Iterator[int] = (
    FIRST + (os.getpid() * 37 + turn) % WIDTH * STEP for turn in itertools.count()
)


def free_port(also: Sequence[int] = ()) -> int:
    """A port that nobody listens on, nor on the neighbours at the given distances."""
    for _ in range(WIDTH):
        base = next(_bases) + 3  # room for a neighbour at -2
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
