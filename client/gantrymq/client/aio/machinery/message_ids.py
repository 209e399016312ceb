"""Makes the unique message ids (UNIQ_KEY) of this process.

A forked child makes ids of its own, as any other process.
"""

from __future__ import annotations

import os
import random
from datetime import datetime
from typing import Final, final

from gantrymq.client.aio.machinery.process import own_address
from gantrymq.runtime.clock import Clock
from gantrymq.wire import hosts
from gantrymq.wire.message.unique_id import UniqueIdMaker

_DAY_MS: Final = 86_400_000


@final
class _Forks:
    """Counts the forks since the module was imported. Reading the own pid each time is a system
    call, which takes longer than making an id."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: int = 0

    def one_more(self) -> None:
        self.count += 1


_forks: Final = _Forks()
os.register_at_fork(after_in_child=_forks.one_more)


@final
class UniqueIds:
    """Makes unique ids by one clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._forks = -1
        self._maker: UniqueIdMaker
        self._month_start_ms = self._month_end_ms = 0

    def make(self) -> str:
        now_ms = self._clock.wall_ms()
        self._be_of(now_ms)
        return self._maker.make(now_ms, self._month_start_ms)

    def make_many(self, count: int) -> list[str]:
        """Make ids with one reading of the clock, hence at most 65536."""
        now_ms = self._clock.wall_ms()
        self._be_of(now_ms)
        return self._maker.make_many(count, now_ms, self._month_start_ms)

    def _be_of(self, now_ms: int) -> None:
        """Renew the maker after a fork, and the start of the month when it changes."""
        if self._forks != _forks.count:
            self._forks = _forks.count
            address = hosts.parse_address(own_address())
            self._maker = UniqueIdMaker(address, os.getpid(), random.getrandbits(32))
        if not self._month_start_ms <= now_ms < self._month_end_ms:
            self._month_start_ms = _month_start_ms(now_ms)
            self._month_end_ms = _month_start_ms(self._month_start_ms + 32 * _DAY_MS)


def _month_start_ms(now_ms: int) -> int:
    """Return midnight of the month's first day, local time."""
    now = datetime.fromtimestamp(now_ms / 1000).astimezone()
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return int(first.timestamp() * 1000)
