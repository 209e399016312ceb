"""What makes this process one of its own: its address, and its name."""

from __future__ import annotations

import os
import socket
import time
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def own_address() -> str:
    """The address others see us by: that of the way out, loopback where there is none."""
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))  # sends nothing: only chooses the way
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return "127.0.0.1"


def offsets_folder() -> str:
    """Where broadcast groups keep their progress; RocketMQ's names for it, and Java's default."""
    folder = os.environ.get("ROCKETMQ_CLIENT_LOCALOFFSETSTOREDIR")
    return folder or str(Path.home() / ".rocketmq_offsets")


def process_name() -> str:
    """What stands for an instance that has no name: another one in each process."""
    return f"{os.getpid()}#{time.time_ns()}"
