"""Implements the master's end of a classic connection: the slave reports, and is sent the log.

    asked          nothing is sent before the first report, which says where to begin; 0 begins at
                   the start of the log's last file
    sent           the log has been put into the output up to here; frames hold `batch_bytes` at
                   most, and none crosses the end of a file
    acknowledged   the highest report

The protocol does not show whether the slave has this master's log or another one. A slave can have
what the log contained when this process started, and what was sent since: a report above that ends
the connection and acknowledges nothing.

Bounds. Output is made only while the network accepts it, `OUTPUT_BYTES_MAX` at a time; one stretch
of the log that is not in memory is read ahead. A slave that does not read costs that much, and one
that is silent is closed after `silence_seconds`, even if it has never sent anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.ha.classic.frames import ReportReader, encode_head
from gantrymq.ha.protocol.events import Acknowledged, Ended, Ending, LogSenderEvent
from gantrymq.ha.protocol.log_stream import OUTPUT_BYTES_MAX, LogStream, too_far_behind
from gantrymq.ha.protocol.rate import Rate
from gantrymq.ha.settings import HaSettings
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

COLD_BYTES: Final = 256 * 1024

BEGIN_ANEW: Final = "empty the slave's store, and it begins again with the master's last log file"


@final
class LogSender:
    """The protocol state of one connection: bytes and time go in, events and output come out."""

    __slots__ = (
        "_handed_out",
        "_heard_at",
        "_log",
        "_output",
        "_output_bytes",
        "_rate",
        "_reports",
        "_sent_at",
        "_settings",
        "acknowledged",
        "address",
        "is_held_up",
        "is_over",
        "number",
        "stream",
    )

    def __init__(
        self,
        number: int,
        address: str,
        store: Store,
        settings: HaSettings,
        now: float,
        *,
        handed_out: int,
    ) -> None:
        """`number` was never used by another follower. `handed_out`: slaves may have this log up to
        here."""
        self.number = number
        self.address = address
        self.acknowledged = 0
        self.is_held_up = False
        """Whether the network accepts no more bytes for now: then no output is made."""
        self.is_over = False
        self.stream = LogStream(number, store.log, store.log_reader, COLD_BYTES)
        self._handed_out = handed_out
        self._heard_at = now
        self._log = store.log
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._rate = Rate(now)
        self._reports = ReportReader()
        self._settings = settings
        self._sent_at = now

    # ------------------------------------------------------------------ the link

    def receive(self, data: bytes, now: float) -> Sequence[LogSenderEvent]:
        """Process bytes from the slave."""
        if self.is_over:
            return ()
        self._heard_at = now
        before = self.acknowledged
        for position in self._reports.decode(data):
            ended = self._hear(position) if self.has_asked else self._begin(position, now)
            if ended is not None:
                return [ended]
        return [Acknowledged(self.acknowledged)] if self.acknowledged > before else ()

    def take_output(self) -> Sequence[bytes]:
        """The bytes to send. The caller takes them only when it can send them."""
        output, self._output, self._output_bytes = self._output, [], 0
        return output

    def deadline(self) -> float:
        """When `expire` has something to do."""
        silent = self._heard_at + self._settings.silence_seconds
        if not self.has_asked:
            return silent
        return min(silent, self._sent_at + self._settings.heartbeat_seconds)

    def expire(self, now: float) -> Sequence[LogSenderEvent]:
        """Send a heartbeat if one is due, or end a silent connection."""
        if self.is_over:
            return ()
        if now >= self._heard_at + self._settings.silence_seconds:
            silence = f"the slave sent nothing for {self._settings.silence_seconds:g} s"
            return [self._end(Ending.SILENT, silence)]
        if self.has_asked and now >= self._sent_at + self._settings.heartbeat_seconds:
            self._sent_at = now
            if not self._output:
                self._put(b"", now)
        return ()

    def closed(self, ending: Ending, now: float) -> None:
        """The connection is closed, by either side."""
        del ending, now
        self._close()

    # ------------------------------------------------------------------ what is sent

    @property
    def has_asked(self) -> bool:
        """Whether the slave has reported the end of its log."""
        return self.stream.is_open

    @property
    def has_room(self) -> bool:
        """Whether more can be sent, and there is more."""
        return (
            self.stream.is_ready and not self.is_held_up and self._output_bytes < OUTPUT_BYTES_MAX
        )

    def fill(self, now: float) -> Sequence[LogSenderEvent]:
        """Make output from the bytes in memory, up to the bound."""
        stream = self.stream
        while self.has_room:
            data = stream.next(self._settings.batch_bytes)
            if data:
                self._put(data, now)
        if self.is_over or stream.failure is None:
            return ()
        ending, text = stream.failure
        if ending is Ending.TOO_FAR_BEHIND:
            return [self._end(ending, f"{text}; {BEGIN_ANEW}")]
        return [self._end(ending, text)]

    def status(self, now: float) -> FollowerStatus:
        behind = max(0, self._log.end - self.acknowledged)
        return FollowerStatus(
            self.address,
            self.acknowledged,
            behind,
            self._rate.per_second(now),
            is_in_sync=behind < self._settings.in_sync_bytes,
        )

    def _put(self, data: bytes, now: float) -> None:
        """Append a frame to the output; it ends at the position of `stream.sent`."""
        self._output += (encode_head(self.stream.sent - len(data), len(data)), data)
        self._output_bytes += len(data)
        self._sent_at = now
        self._rate.add(len(data), now)

    # ------------------------------------------------------------------ reports

    def _begin(self, position: int, now: float) -> Ended | None:
        """Process the first report, which says where to begin."""
        log = self._log
        if position < 0:
            return self._end(
                Ending.GARBAGE, f"the peer is not a slave: its first report is {position}"
            )
        if position > self._handed_out:
            return self._end(
                Ending.AHEAD,
                f"the slave's log ends at {position}, but this log ends at {log.end} and was sent"
                f" only up to {self._handed_out}: the slave has followed another master, or this"
                " master has lost records. Empty the slave's store if its messages are not needed.",
            )
        if 0 < position < log.start:
            return self._end(
                Ending.TOO_FAR_BEHIND,
                f"{too_far_behind(position, log)}; {BEGIN_ANEW}",
            )
        self.stream.begin(position or log.segments.start_of(log.end))
        self.acknowledged = position
        self._sent_at = now
        return None

    def _hear(self, position: int) -> Ended | None:
        """Process a later report."""
        if not 0 <= position <= self.stream.sent:
            return self._end(
                Ending.GARBAGE,
                f"it says that it has {position}, but was sent up to {self.stream.sent}",
            )
        self.acknowledged = max(self.acknowledged, position)
        return None

    def _end(self, ending: Ending, text: str) -> Ended:
        self._close()
        return Ended(ending, text)

    def _close(self) -> None:
        self.is_over = True
        self.stream.close()
        self._output.clear()
