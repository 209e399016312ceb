"""Collects the channels of one owner that have output, and writes to all of them in one callback.

Each channel is written to once for all its output of a loop iteration. By default the loop calls
back in the next iteration. An owner that knows when its output is complete calls `gather` before
and `flush` after, which saves that iteration.

Invariant: a channel that was added is flushed before the loop waits again.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, final


class Flushed(Protocol):
    """An object with output to write."""

    def flush(self) -> None: ...


@final
class Outbox:
    """The outbox of one server or dialer."""

    __slots__ = ("_channels", "_is_gathering", "_is_scheduled")

    def __init__(self) -> None:
        self._channels: list[Flushed] = []
        self._is_gathering: bool = False
        self._is_scheduled: bool = False

    def add(self, channel: Flushed) -> None:
        """Add a channel that has output."""
        self._channels.append(channel)
        if not self._is_gathering and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_scheduled)

    def gather(self) -> None:
        """Schedule no callback: the caller calls `flush` in this same callback of the loop."""
        self._is_gathering = True

    def flush(self) -> None:
        """Write to all channels that were added."""
        self._is_gathering = False
        channels, self._channels = self._channels, []
        for channel in channels:
            try:
                channel.flush()
            except Exception as error:
                # A bug in one channel must not delay the responses of the others.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "output could not be written", "exception": error}
                )

    def _flush_scheduled(self) -> None:
        self._is_scheduled = False
        self.flush()
