"""Implements the slave's end of a classic connection: it reports its log's end and copies the log.

Reports are sent on connecting, after each append, and after `heartbeat_seconds` of silence. They
name the end of the slave's log, including bytes that a crash could still lose, unless the slave's
own flushDiskType prevents that; Java's slaves do the same.

Invariant: the bytes passed on as `Copied` have no gap and no overlap, and begin at the end of the
slave's log. Anything else, garbage or another log, ends the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.ha.classic.frames import FrameReader, encode_report
from gantrymq.ha.protocol.events import Copied, Ended, Ending, LogReceiverEvent
from gantrymq.ha.protocol.rate import Rate
from gantrymq.ha.settings import HaSettings


@final
class LogReceiver:
    """The protocol state of one connection: bytes and time go in, events and output come out."""

    __slots__ = (
        "_expected",
        "_frames",
        "_heard_at",
        "_output",
        "_rate",
        "_reported",
        "_reported_at",
        "_settings",
        "has_heard",
        "is_over",
    )

    def __init__(self, end: int, settings: HaSettings, now: float, *, is_empty: bool) -> None:
        """`end`: where this slave's log ends. An empty log accepts any start position."""
        self.has_heard = False
        """Whether the master has sent anything."""
        self.is_over = False
        self._expected: int | None = None if is_empty else end
        self._frames = FrameReader()
        self._heard_at = now
        self._output: list[bytes] = []
        self._rate = Rate(now)
        self._reported = 0 if is_empty else end
        self._settings = settings
        self._reported_at = now
        self._report(now)

    def receive(self, data: bytes, now: float) -> Sequence[LogReceiverEvent]:
        """Process bytes from the master. Returns at most one Copied, then possibly an Ended."""
        if self.is_over:
            return ()
        self._heard_at = now
        self.has_heard = True
        events: list[LogReceiverEvent] = []
        pieces: list[bytes] = []
        begin = self._expected
        for position, piece in self._frames.decode(data):
            if self._expected is not None and position != self._expected:
                events.append(self._diverged(position))
                break
            if piece:
                begin = position if begin is None else begin
                self._expected = position + len(piece)
                pieces.append(piece)
        if self._frames.failure and not self.is_over:
            events.append(
                self._end(Ending.GARBAGE, f"the peer is not a master: {self._frames.failure}")
            )
        if pieces and begin is not None:
            copied = Copied(begin, b"".join(pieces))
            self._rate.add(len(copied.data), now)
            events.insert(0, copied)
        return events

    def appended(self, end: int, now: float) -> None:
        """Record that the slave's log now ends here."""
        if end > self._reported:
            self._reported = end
            self._report(now)

    def take_output(self) -> Sequence[bytes]:
        """The bytes to send."""
        output, self._output = self._output, []
        return output

    def deadline(self) -> float:
        """When `expire` has something to do."""
        return min(
            self._heard_at + self._settings.silence_seconds,
            self._reported_at + self._settings.heartbeat_seconds,
        )

    def expire(self, now: float) -> Sequence[LogReceiverEvent]:
        """Send a heartbeat if one is due, or end a silent connection."""
        if self.is_over:
            return ()
        if now >= self._heard_at + self._settings.silence_seconds:
            silence = f"the master sent nothing for {self._settings.silence_seconds:g} s"
            return [self._end(Ending.SILENT, silence)]
        if now >= self._reported_at + self._settings.heartbeat_seconds:
            self._report(now)
        return ()

    def closed(self, ending: Ending, now: float) -> None:
        """The connection is closed, by either side."""
        del ending, now
        self.is_over = True

    def bytes_per_second(self, now: float) -> int:
        return self._rate.per_second(now)

    def _report(self, now: float) -> None:
        self._reported_at = now
        self._output.append(encode_report(self._reported))

    def _diverged(self, position: int) -> Ended:
        return self._end(
            Ending.DIVERGED,
            f"the master continues at {position}, and this log expects {self._expected}: one log"
            " has records that the other lacks. Empty this store if its messages are not needed;"
            " the slave then copies the master's log from its last file on.",
        )

    def _end(self, ending: Ending, text: str) -> Ended:
        self.is_over = True
        self._output.clear()
        return Ended(ending, text)
