"""What makes this process one of its own: its address, and the ids it gives to messages.

A child of a fork is another process: it gets ids of its own.
"""

from __future__ import annotations

import os
import random
import socket
import time
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import final

from gantrymq.runtime.clock import Clock
from gantrymq.wire import hosts
from gantrymq.wire.message.unique_id import UniqueIdMaker

_DAY_MS = 86_400_000


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


@final
class UniqueIds:
    """Makes UNIQ_KEYs by one clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pid = 0
        self._maker: UniqueIdMaker
        self._month_start_ms = self._month_end_ms = 0

    def make(self) -> str:
        now_ms = self._clock.wall_ms()
        if self._pid != os.getpid():
            self._pid = os.getpid()
            address = hosts.parse_address(own_address())
            self._maker = UniqueIdMaker(address, self._pid, random.getrandbits(32))
        if not self._month_start_ms <= now_ms < self._month_end_ms:
            self._month_start_ms = _month_start_ms(now_ms)
            self._month_end_ms = _month_start_ms(self._month_start_ms + 32 * _DAY_MS)
        return self._maker.make(now_ms, self._month_start_ms)


def _month_start_ms(now_ms: int) -> int:
    """Midnight of the month's first day, local time."""
    now = datetime.fromtimestamp(now_ms / 1000).astimezone()
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return int(first.timestamp() * 1000)
