"""Requests that take long, one a turn of the loop, so that the short ones get through in between.

A registration of ten thousand topics takes some 60 ms to read. When fifty brokers register at
once, after a restart, clients still get their routes: each waits for one of them at most.

Invariant: requests of one connection are served in their order, so what follows a long one waits
behind it. What waits is bounded: beyond BYTES_MAX the oldest is served at once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, final

from gantrymq.wire.command import Command

# A body of this size is read in about 2 ms.
LONG_BYTES: Final = 64 * 1024

# Four of the largest frames; fifty brokers of ten thousand topics bring 90 MB.
BYTES_MAX: Final = 64 * 1024 * 1024


class Sender(Protocol):
    """A connection."""

    @property
    def is_closing(self) -> bool: ...


S = TypeVar("S", bound=Sender)


@final
class Backlog(Generic[S]):
    """What waits. The owner calls `serve_next` once a turn while `is_empty` does not hold."""

    __slots__ = ("_behind", "_bytes", "_serve", "_waiting")

    def __init__(self, serve: Callable[[S, Command], None]) -> None:
        self._serve = serve
        self._waiting: deque[tuple[S, Command]] = deque()
        self._behind: Counter[S] = Counter()
        self._bytes = 0

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def takes(self, channel: S, command: Command) -> bool:
        """Whether this request has to wait here."""
        return len(command.body) >= LONG_BYTES or channel in self._behind

    def add(self, channel: S, command: Command) -> None:
        self._waiting.append((channel, command))
        self._behind[channel] += 1
        self._bytes += len(command.body)
        while self._bytes > BYTES_MAX:
            self.serve_next()

    def serve_next(self) -> None:
        """The oldest; nobody waits for it any more when its connection is gone."""
        channel, command = self._waiting.popleft()
        self._bytes -= len(command.body)
        self._behind[channel] -= 1
        if not self._behind[channel]:
            del self._behind[channel]
        if not channel.is_closing:
            self._serve(channel, command)
