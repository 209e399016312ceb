"""A connection to the master, a thin skin over a `Following`; the dialer makes it, over and over.

What comes is in our log before the next report says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, final

from gantrymq.ha.events import Ended, Ending, FollowingEvent
from gantrymq.ha.following import Following
from gantrymq.ha.settings import HaSettings
from gantrymq.runtime.clock import Clock
from gantrymq.store.engine import Store
from gantrymq.store.segments import SyncFailedError


class Transport(Protocol):
    """What we need of asyncio's; uvloop's are no subclasses of those."""

    def writelines(self, pieces: Sequence[bytes]) -> None: ...

    def abort(self) -> None: ...


@final
class Copier:
    """Whose log it is that the connections to one master fill."""

    __slots__ = ("clock", "fail", "last_read_ms", "last_write_ms", "log_moves", "settings", "store")

    def __init__(
        self,
        store: Store,
        settings: HaSettings,
        clock: Clock,
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """`fail` hears of a store that cannot go on."""
        self.clock: Clock = clock
        self.fail: Callable[[Exception], None] = fail
        self.log_moves: Callable[[], None] = log_moves
        self.settings: HaSettings = settings
        self.store: Store = store
        self.last_read_ms: int = 0
        self.last_write_ms: int = 0

    def begin(self) -> Following:
        """A connection was made."""
        end = self.store.begin_copy()
        return Following(end or 0, self.settings, self.clock.monotonic(), is_empty=end is None)


@final
class MasterConnection:
    """One connection; the transport calls.

    For the loop it is an asyncio.Protocol, of which a compiled class cannot be a subclass.
    """

    __slots__ = ("_is_over", "_owner", "_transport", "ended", "link")

    def __init__(self, owner: Copier, ended: asyncio.Future[Ended]) -> None:
        self.ended: asyncio.Future[Ended] = ended
        self.link: Following | None = None
        self._is_over: bool = False
        self._owner: Copier = owner
        self._transport: Transport | None = None

    def connection_made(self, transport: Transport) -> None:
        self._transport = transport
        if self._is_over:
            transport.abort()
            return
        self.link = self._owner.begin()
        self._flush()

    def data_received(self, data: bytes) -> None:
        owner, link = self._owner, self.link
        if link is None or self._is_over:
            return
        owner.last_read_ms = owner.clock.wall_ms()
        self._see(link.receive(data, owner.clock.monotonic()))

    def eof_received(self) -> None:
        """The master said goodbye; returning nothing closes our side as well."""

    def pause_writing(self) -> None:
        """Reports are few: they wait in the transport."""

    def resume_writing(self) -> None:
        """They go on by themselves."""

    def connection_lost(self, error: Exception | None) -> None:
        if self.link is not None:
            self.link.closed(Ending.CLOSED, self._owner.clock.monotonic())
        self._say(Ended(Ending.CLOSED, str(error) if error else "by the master"))

    def end(self, ended: Ended) -> None:
        """It is over: what still comes is not read."""
        self._is_over = True
        self._say(ended)
        if self._transport is not None:
            self._transport.abort()

    def deadline(self) -> float | None:
        return None if self.link is None else self.link.deadline()

    def expire(self, now: float) -> None:
        if self.link is not None and not self._is_over:
            self._see(self.link.expire(now))

    def _see(self, events: Sequence[FollowingEvent]) -> None:
        for event in events:
            ended = event if isinstance(event, Ended) else self._append(event.position, event.data)
            if ended is not None:
                self.end(ended)
                return
        self._flush()

    def _append(self, position: int, data: bytes) -> Ended | None:
        """Into our log; what cannot be taken ends the connection."""
        owner, link = self._owner, self.link
        assert link is not None, "nothing comes before the connection was made"
        now = owner.clock.monotonic()
        try:
            refused = owner.store.append_copy(position, data, now)
        except SyncFailedError as error:
            owner.fail(error)
            return Ended(Ending.DISK, str(error))
        link.appended(owner.store.log.end, now)
        owner.log_moves()
        if refused is None:
            return None
        return Ended(Ending.DIVERGED if refused.is_diverged else Ending.DISK, refused.text)

    def _flush(self) -> None:
        if self.link is None or self._transport is None or self._is_over:
            return
        output = self.link.take_output()
        if output:
            self._owner.last_write_ms = self._owner.clock.wall_ms()
            self._transport.writelines(output)

    def _say(self, ended: Ended) -> None:
        if not self.ended.done():
            self.ended.set_result(ended)
