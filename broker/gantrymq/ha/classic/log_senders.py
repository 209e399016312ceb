"""Manages the slaves that follow this broker's log, and answers the sends that wait for them.

    opened  ->  heard from ...  ->  closed        each connection
    turn                                          once a turn, after the store's

Each turn sends what is new in the log to all slaves whose network accepts it: bytes in memory at
once, the rest when the disk has read it. An acknowledgement of any slave completes the sends that
wait for it. If there is no slave to wait for, the store is told why, so that producers get an error
without waiting.

A slave can have what this process found in the log when it started, and what it sent since: a slave
that reports more does not follow this log, or not any more.

Bounds: `FOLLOWERS_MAX` connections; log_sender.py has those of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.ha.classic.log_sender import LogSender
from gantrymq.ha.protocol import log_stream
from gantrymq.ha.protocol.events import Ended, Ending, LogSenderEvent
from gantrymq.ha.settings import HaSettings
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# A group has a handful of slaves; each may hold a megabyte.
FOLLOWERS_MAX: Final = 32

ALONE: Final = (
    "The message is stored, but no slave has it: none is connected. SYNC_MASTER waits for one "
    "slave; start a broker of this brokerName with brokerRole=SLAVE, or see its log."
)


@final
class LogSenders:
    """The slaves of one open store."""

    __slots__ = ("_followers", "_handed_out", "_last_number", "_settings", "_store")

    def __init__(self, store: Store, settings: HaSettings) -> None:
        self._followers: dict[int, LogSender] = {}
        self._handed_out = store.log.end
        self._last_number = 0
        self._settings = settings
        self._store = store
        store.waiters.for_members = settings.waits
        self._judge()

    def opened(self, address: str, now: float) -> LogSender | None:
        """Add a connection; None if there are too many and it has to be closed."""
        if len(self._followers) >= FOLLOWERS_MAX:
            return None
        self._last_number += 1
        sent = [each.stream.sent for each in self._followers.values()]
        follower = LogSender(
            self._last_number,
            address,
            self._store,
            self._settings,
            now,
            handed_out=max([self._handed_out, *sent]),
        )
        self._followers[follower.number] = follower
        return follower

    def heard(self, follower: LogSender, data: bytes, now: float) -> Sequence[LogSenderEvent]:
        """Process bytes from a slave; sends that this acknowledges are answered in the next
        turn."""
        events = follower.receive(data, now)
        self._store.waiters.replicated(follower.acknowledged)
        self._judge()
        return events

    def closed(self, follower: LogSender, ending: Ending, now: float) -> None:
        """Remove a closed connection."""
        follower.closed(ending, now)
        self._followers.pop(follower.number, None)
        self._handed_out = max(self._handed_out, follower.stream.sent)
        self._judge()

    def turn(self, now: float) -> Sequence[tuple[LogSender, Ended]]:
        """Make output for all slaves that are behind. Returns the connections that have to be
        closed."""
        if not self._followers:
            return ()
        if self._store.log_reader.is_due:
            streams = {number: each.stream for number, each in self._followers.items()}
            log_stream.turn(self._store.log_reader, streams)
        over: list[tuple[LogSender, Ended]] = []
        for follower in self._followers.values():
            for event in follower.fill(now):
                assert isinstance(event, Ended)
                over.append((follower, event))
        self._judge()
        return over

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do at once."""
        if not self._followers:
            return False
        if self._store.log_reader.is_due:
            return True
        for each in self._followers.values():  # noqa: SIM110 - a loop is compiled, any() is a call
            if each.has_room:
                return True
        return False

    def statuses(self, now: float) -> Sequence[FollowerStatus]:
        """The status of each slave that has reported the end of its log."""
        return [each.status(now) for each in self._followers.values() if each.has_asked]

    def _judge(self) -> None:
        """Tell the store whether there is a slave to wait for."""
        if self._settings.waits:
            self._store.waiters.missing = self._missing()

    def _missing(self) -> str | None:
        most = -1
        for each in self._followers.values():
            if each.has_asked:
                most = max(most, each.acknowledged)
        if most < 0:
            return ALONE
        behind = self._store.log.end - most
        if behind < self._settings.fall_behind_bytes:
            return None
        return (
            f"The message is stored, but no slave has it: the one that has most is {behind} bytes "
            f"behind, and haSlaveFallbehindMax is {self._settings.fall_behind_bytes}. A slave that "
            "has caught up is waited for again; see mqadmin haStatus."
        )
