"""Determines the address and the name that identify this process."""

from __future__ import annotations

import os
import socket
import time
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def own_address() -> str:
    """Return the local address of the default route; the loopback address if there is none."""
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))  # sends nothing: only chooses the route
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return "127.0.0.1"


def offsets_folder() -> str:
    """Return the folder of broadcasting groups' offsets: RocketMQ's variable, or Java's default."""
    folder = os.environ.get("ROCKETMQ_CLIENT_LOCALOFFSETSTOREDIR")
    return folder or str(Path.home() / ".rocketmq_offsets")


def process_name() -> str:
    """Return the name that replaces the default instance name, different in each process."""
    return f"{os.getpid()}#{time.time_ns()}"
