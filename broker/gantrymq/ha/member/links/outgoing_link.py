"""Implements the follower's end of a link between members: it asks to follow, and copies the log.

    meeting      both sides prove their identity and report their logs
    welcomed     the master sends its log from the end of this one on, if it continues there;
                 otherwise nothing, and this log has to be truncated first
    refused      the peer is not a master for this member; it has reported its own log

Reports are sent when something has changed, at most one per turn, and each HEARTBEAT_SECONDS as a
heartbeat.

Invariants. The bytes passed on as `Copied` have no gap and no overlap, and begin where this log
ends, or where the master's begins if this one is empty. Nothing is passed on before the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.disk.epochs import divergence
from gantrymq.ha.member.links.link_settings import HEARTBEAT_SECONDS, SILENCE_SECONDS
from gantrymq.ha.member.links.member_events import (
    HeartbeatReceived,
    OutgoingLinkEvent,
    Refused,
    TableReceived,
    Welcomed,
)
from gantrymq.ha.protocol.events import Copied, Ended, Ending
from gantrymq.ha.protocol.handshake import (
    Member,
    MemberReport,
    OutgoingHandshake,
    RefusedError,
    resume_position,
)
from gantrymq.ha.protocol.member_frames import (
    Data,
    Frame,
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    Table,
    encode,
)
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.ha.protocol.rate import Rate


@final
class OutgoingLink:
    """The protocol state of one link: bytes and time go in, events and output come out."""

    __slots__ = (
        "_expected",
        "_handshake",
        "_has_copied",
        "_heard_at",
        "_heartbeat",
        "_is_due",
        "_member_report",
        "_output",
        "_pieces",
        "_rate",
        "_reader",
        "_report",
        "_reported_at",
        "_table",
        "is_over",
        "is_welcome",
    )

    def __init__(
        self, me: Member, secret: GroupSecret, nonce: bytes, member_report: MemberReport, now: float
    ) -> None:
        """`nonce` is used for this connection only. This log must not change before the welcome."""
        self.is_over = False
        self.is_welcome = False
        self._heartbeat: Heartbeat | None = None
        self._expected = 0
        """The position of the next bytes of the log."""
        self._has_copied = False
        self._heard_at = now
        self._is_due = False
        """Whether a report has to be sent."""
        self._handshake = OutgoingHandshake(me, secret, nonce, member_report)
        self._output = [self._handshake.begin()]
        self._pieces: list[bytes] = []
        self._rate = Rate(now)
        self._reader = MemberReader(Kind.CHALLENGE)
        self._report = Report(0 if member_report.is_empty else member_report.sure_end, 0)
        self._reported_at = now
        self._member_report = member_report
        self._table = 0
        """The number of the last table received."""

    # ------------------------------------------------------------------ the link

    def receive(self, data: bytes, now: float) -> Sequence[OutgoingLinkEvent]:
        """Process bytes from the peer."""
        if self.is_over:
            return ()
        if self.is_welcome:
            self._heard_at = now
        events: list[OutgoingLinkEvent] = []
        for frame in self._reader.decode(data):
            self._take(frame, events, now)
            if events and isinstance(events[-1], Ended | Refused):
                return events
        if self._reader.failure:
            self._end(Ending.GARBAGE, f"the peer is not a member: {self._reader.failure}", events)
            return events
        self._flush_pieces(events, now)
        if self._heartbeat is not None:
            events.append(HeartbeatReceived(self._heartbeat))
            self._heartbeat = None
        return events

    def take_output(self) -> Sequence[bytes]:
        """The bytes to send."""
        output, self._output = self._output, []
        if self._is_due:
            self._is_due = False
            output.append(encode(self._report))
        return output

    def deadline(self) -> float:
        """When `expire` has something to do."""
        silent = self._heard_at + SILENCE_SECONDS
        return min(silent, self._reported_at + HEARTBEAT_SECONDS) if self.is_welcome else silent

    def expire(self, now: float) -> Sequence[OutgoingLinkEvent]:
        """Send a heartbeat if one is due, or end a silent link."""
        events: list[OutgoingLinkEvent] = []
        if self.is_over:
            return events
        if now >= self._heard_at + SILENCE_SECONDS:
            silence = f"the peer sent nothing for {SILENCE_SECONDS:g} s"
            self._end(Ending.SILENT, silence, events)
        elif self.is_welcome and now >= self._reported_at + HEARTBEAT_SECONDS:
            self._schedule_report(now)
        return events

    def closed(self) -> None:
        """The connection is closed, by either side."""
        self._close()

    def bytes_per_second(self, now: float) -> int:
        return self._rate.per_second(now)

    # ------------------------------------------------------------------ sending

    def report(
        self,
        received: int,
        flushed: int,
        promised: int,
        stored: int,
        now: float,
        *,
        is_leaving: bool = False,
        is_refusing: bool = False,
    ) -> None:
        """Record the current state of this member, to be reported if it changed. Called once a
        turn, or when it may have changed."""
        if not self.is_welcome or self.is_over:
            return
        if self._member_report.is_empty and not self._has_copied:
            received = flushed = 0
        last = self._report
        if (
            received != last.received
            or flushed != last.flushed
            or promised != last.promised
            or stored != last.stored
            or is_leaving != last.is_leaving
            or is_refusing != last.is_refusing
        ):
            self._report = Report(received, flushed, promised, stored, is_leaving, is_refusing)
            self._schedule_report(now)

    def _schedule_report(self, now: float) -> None:
        self._is_due = True
        self._reported_at = now

    # ------------------------------------------------------------------ receiving

    def _take(self, frame: Frame, events: list[OutgoingLinkEvent], now: float) -> None:
        match frame:
            case Data(position, data):
                self._copy(position, data, events, now)
            case Heartbeat():
                self._heartbeat = frame
            case Table(number, name, content):
                self._flush_pieces(events, now)
                if number == self._table + 1:
                    self._table = number
                    events.append(TableReceived(number, name, content))
                else:
                    text = f"table {number} does not follow table {self._table}"
                    self._end(Ending.GARBAGE, text, events)
            case _:
                assert isinstance(frame, HandshakeFrame), "the reader does not expect it"
                self._take_handshake(frame, events, now)

    def _take_handshake(
        self, frame: HandshakeFrame, events: list[OutgoingLinkEvent], now: float
    ) -> None:
        peer_handshake = self._handshake
        try:
            output, member_report = peer_handshake.take(frame)
        except RefusedError as refused:
            self._close()
            events.append(
                Refused(peer_handshake.master, refused.reason, str(refused), refused.member_report)
            )
        except RemoteError as error:
            self._end(Ending.GARBAGE, str(error), events)
        else:
            if member_report is None:
                self._output.append(output)
                self._reader.expect(Kind.WELCOME, Kind.REFUSAL)
            else:
                self._enter(peer_handshake.master, member_report, events, now)

    def _enter(
        self, master: Member, theirs: MemberReport, events: list[OutgoingLinkEvent], now: float
    ) -> None:
        """The master accepts this member."""
        ours = self._member_report
        begins = resume_position(ours, theirs)
        self.is_welcome = True
        self._heard_at = now
        self._schedule_report(now)
        if begins is None:
            self._reader.expect(Kind.BEAT, Kind.TABLE)
        else:
            self._expected = begins
            self._reader.expect(Kind.BEAT, Kind.TABLE, Kind.DATA)
        parted = divergence(ours.epochs, ours.end, theirs.epochs, theirs.end)
        events.append(Welcomed(master, theirs, parted, begins))

    def _copy(
        self, position: int, data: bytes, events: list[OutgoingLinkEvent], now: float
    ) -> None:
        if position == self._expected:
            self._expected += len(data)
            self._pieces.append(data)
            return
        self._flush_pieces(events, now)
        text = f"the master continues at {position}, and this log expects {self._expected}"
        self._end(Ending.DIVERGED, text, events)

    def _flush_pieces(self, events: list[OutgoingLinkEvent], now: float) -> None:
        """Pass on the bytes of the log that have arrived."""
        if not self._pieces:
            return
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._has_copied = True
        self._rate.add(len(data), now)
        events.append(Copied(self._expected - len(data), data))

    def _end(self, ending: Ending, text: str, events: list[OutgoingLinkEvent]) -> None:
        self._close()
        events.append(Ended(ending, text))

    def _close(self) -> None:
        self.is_over = True
        self._is_due = False
        self._output.clear()
        self._pieces.clear()
