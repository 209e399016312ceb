"""The channels of one owner that have something to write: one call of the loop for all of them.

A channel is written to once for all that a round of the loop has for it. Mostly the loop calls by
itself; who knows when a round's output is complete says `gather` before and `flush` after it,
which saves the round in between.

Invariant: a channel that was added is flushed before the loop waits again.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, final


class Flushed(Protocol):
    """What has output."""

    def flush(self) -> None: ...


@final
class Outbox:
    """Of one server or dialer."""

    __slots__ = ("_channels", "_is_gathering", "_is_scheduled")

    def __init__(self) -> None:
        self._channels: list[Flushed] = []
        self._is_gathering: bool = False
        self._is_scheduled: bool = False

    def add(self, channel: Flushed) -> None:
        """It has output that nobody writes yet."""
        self._channels.append(channel)
        if not self._is_gathering and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_scheduled)

    def gather(self) -> None:
        """`flush` is called before this call of the loop is over."""
        self._is_gathering = True

    def flush(self) -> None:
        """Write to all who are here."""
        self._is_gathering = False
        channels, self._channels = self._channels, []
        for channel in channels:
            try:
                channel.flush()
            except Exception as error:
                # A bug in one connection's end must not keep the answers of all others.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "output could not be written", "exception": error}
                )

    def _flush_scheduled(self) -> None:
        self._is_scheduled = False
        self.flush()
