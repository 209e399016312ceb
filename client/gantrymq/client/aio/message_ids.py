"""The ids that this process gives to messages: UNIQ_KEY.

A child of a fork is another process: it gets ids of its own.
"""

from __future__ import annotations

import os
import random
from datetime import datetime
from typing import Final, final

from gantrymq.client.aio.process import own_address
from gantrymq.runtime.clock import Clock
from gantrymq.wire import hosts
from gantrymq.wire.message.unique_id import UniqueIdMaker

_DAY_MS: Final = 86_400_000


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
