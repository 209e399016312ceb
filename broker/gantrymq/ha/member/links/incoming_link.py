"""Implements the master's end of a link between members: handshake, log, tables and reports.

link_phase.py has the phases of a link and the table of their transitions.

A follower cannot report more than the master has sent on this connection: a report of more than
that, or of less than before, ends the connection and acknowledges nothing.

The master sends a table when it has changed, with its newest content: content that was replaced
before it was sent is skipped. A change of a table waits for its number: `missing_table`.

Bounds. Output is made only while the network accepts it, `OUTPUT_BYTES_MAX` of it and one table at
a time; cold bytes are read ahead `COLD_BYTES` at a time; at most UNSTORED_MAX tables are sent but
not yet stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import RemoteError
from gantrymq.ha.member.links.link_phase import (
    IDENTIFY,
    LINK_PHASES,
    REFUSE,
    SEND_REFUSAL,
    WELCOME,
    LinkPhase,
)
from gantrymq.ha.member.links.link_settings import HEARTBEAT_SECONDS, SILENCE_SECONDS
from gantrymq.ha.member.links.member_events import Identified, IncomingLinkEvent, Reported
from gantrymq.ha.protocol import handshake
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.handshake import IncomingHandshake, Member, MemberReport, resume_position
from gantrymq.ha.protocol.log_stream import OUTPUT_BYTES_MAX, LogStream
from gantrymq.ha.protocol.member_frames import (
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    encode,
    encode_data_head,
    encode_table_head,
)
from gantrymq.ha.protocol.rate import Rate
from gantrymq.store.engine import Store

# A follower that copies the whole log costs few iterations of the event loop, and a megabyte.
COLD_BYTES: Final = 1 << 20

# Consumers at slaves wait for the safe position, at most this long: the master does not send it for
# each message separately.
SAFE_SECONDS: Final = 0.02

# Beside other output a heartbeat costs no extra write, but not every write needs one.
BESIDE_SECONDS: Final = 0.005

# A follower that stores no table gets no more of them; a broker has some ten tables.
UNSTORED_MAX: Final = 64

# The letter expected after each letter of a handshake.
_NEXT: Final = {Kind.HELLO: Kind.PROOF, Kind.PROOF: Kind.JOINING}


@final
@dataclass(slots=True)
class _UnsentTable:
    """A table that is not sent yet: its current content, and the owner's number of its first unsent
    change."""

    first: int
    content: bytes


@final
class IncomingLink:
    """The protocol state of one link: bytes and time go in, events and output come out."""

    __slots__ = (
        "_handshake",
        "_has_heartbeat",
        "_heard_at",
        "_last_heartbeat",
        "_last_table",
        "_output",
        "_output_bytes",
        "_rate",
        "_reader",
        "_safe_due_at",
        "_store",
        "_unsent",
        "_unstored",
        "address",
        "has_reported",
        "is_held_up",
        "is_over",
        "log_start",
        "member_report",
        "number",
        "phase",
        "report",
        "stream",
    )

    def __init__(
        self,
        number: int,
        address: str,
        peer_handshake: IncomingHandshake,
        store: Store,
        now: float,
    ) -> None:
        """`number` was never used by another link."""
        self.number = number
        self.address = address
        self.is_held_up = False
        """Whether the network accepts no more bytes for now: then no output is made."""
        self.is_over = False
        self.log_start = 0
        """The start of the follower's log; set once it follows."""
        self.phase = LinkPhase.HANDSHAKE
        self.has_reported = False
        """Whether `report` was sent by the follower, rather than derived from the handshake."""
        self.report = Report(0, 0)
        self.member_report: MemberReport | None = None
        """What the follower reported about its log in the handshake."""
        self.stream = LogStream(number, store.log, store.log_reader, COLD_BYTES)
        self._has_heartbeat = False
        """Whether the output contains a heartbeat that was not taken yet."""
        self._heard_at = now
        self._last_table = 0
        self._handshake = peer_handshake
        self._safe_due_at = NEVER
        """When a heartbeat with a new safe position is due."""
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._unsent: dict[str, _UnsentTable] = {}
        self._rate = Rate(now)
        self._reader = MemberReader(Kind.HELLO)
        self._store = store
        self._last_heartbeat: tuple[Heartbeat, float] | None = None
        """The last heartbeat, and when it was made."""
        self._unstored: deque[tuple[int, int]] = deque()
        """Each table that was sent and is not stored: its number on this link, and the owner's
        number of its first unsent change."""

    @property
    def member(self) -> Member:
        """The follower's identity; available after the handshake."""
        return self._handshake.follower

    @property
    def is_following(self) -> bool:
        return self.phase is LinkPhase.FOLLOWING and not self.is_over

    # ------------------------------------------------------------------ the link

    def receive(self, data: bytes, now: float) -> Sequence[IncomingLinkEvent]:
        """Process received bytes; after `Identified` the owner calls `welcome` or `refuse`."""
        if self.is_over or self.phase in (LinkPhase.REFUSED, LinkPhase.REFUSAL_SENT):
            return ()
        if self.is_following:
            self._heard_at = now
        events: list[IncomingLinkEvent] = []
        before = self.report
        for frame in self._reader.decode(data):
            if isinstance(frame, HandshakeFrame):
                events += self._take_handshake(frame)
            else:
                assert isinstance(frame, Report), "the reader does not expect it"
                events += self._take_report(frame)
            if events and isinstance(events[-1], Ended):
                return events[-1:]
        if self._reader.failure:
            return [self.end(Ending.GARBAGE, f"the peer is not a member: {self._reader.failure}")]
        if self.report is not before:
            events.append(Reported(self.report))
        return events

    def welcome(self, member_report: MemberReport, now: float) -> None:
        """Accept the follower. `member_report` describes this master's log."""
        theirs = self.member_report
        assert theirs is not None
        self._enter(WELCOME)
        self._heard_at = now
        self._output.append(handshake.welcome(member_report))
        self._reader.expect(Kind.REPORT)
        begins = resume_position(theirs, member_report)
        if begins is None:
            return
        self.stream.begin(begins)
        self.log_start = begins if theirs.is_empty else theirs.start
        self.report = Report(0 if theirs.is_empty else theirs.sure_end, 0)

    def refuse(self, reason: str, text: str, member_report: MemberReport) -> None:
        """Refuse the follower. The link ends once the network has accepted the refusal: the owner
        closes the connection and does not abort it."""
        self._enter(REFUSE)
        self._reader.expect()
        self._output.append(handshake.refusal(reason, text, member_report))

    def take_output(self) -> Sequence[bytes]:
        """The bytes to send. The caller takes them only when it can send them."""
        output, self._output, self._output_bytes = self._output, [], 0
        self._has_heartbeat = False
        if self.phase is LinkPhase.REFUSED:
            self._enter(SEND_REFUSAL)
        return output

    def deadline(self) -> float:
        """When `expire` or `send_heartbeat` has something to do."""
        silent = self._heard_at + SILENCE_SECONDS
        if self.phase is LinkPhase.REFUSAL_SENT:
            return float("-inf")
        if not self.is_following or self._cannot_send_heartbeat:
            return silent
        if self._last_heartbeat is None:
            return float("-inf")
        return min(silent, self._last_heartbeat[1] + HEARTBEAT_SECONDS, self._safe_due_at)

    def expire(self, now: float) -> Sequence[IncomingLinkEvent]:
        """End the link if it is silent, or its refusal was sent."""
        if self.is_over:
            return ()
        if self.phase is LinkPhase.REFUSAL_SENT:
            return [self.end(Ending.REFUSED, "refused, and the reason was sent")]
        if now >= self._heard_at + SILENCE_SECONDS:
            silence = f"the follower sent nothing for {SILENCE_SECONDS:g} s"
            return [self.end(Ending.SILENT, silence)]
        return ()

    def _enter(self, event: str) -> None:
        """Change the phase as the table says."""
        self.phase = LINK_PHASES.next(self.phase, event)

    def end(self, ending: Ending, text: str) -> Ended:
        """End the link; the owner has to close the connection."""
        self.closed()
        return Ended(ending, text)

    def closed(self) -> None:
        """The connection is closed, by either side."""
        self.is_over = True
        self.stream.close()
        self._output.clear()
        self._unsent.clear()

    # ------------------------------------------------------------------ sending

    @property
    def has_room(self) -> bool:
        """Whether more can be sent, and there is more."""
        return (
            self.is_following
            and not self._is_full
            and (self.stream.is_ready or self._has_table_to_send)
        )

    @property
    def _is_full(self) -> bool:
        return self.is_held_up or self._output_bytes >= OUTPUT_BYTES_MAX

    @property
    def _cannot_send_heartbeat(self) -> bool:
        """A heartbeat may exceed the output bound, but there is at most one in the output."""
        return self.is_held_up or self._has_heartbeat

    @property
    def _has_table_to_send(self) -> bool:
        return bool(self._unsent) and len(self._unstored) < UNSTORED_MAX

    def fill(self, now: float) -> Sequence[IncomingLinkEvent]:
        """Make output from the tables and the bytes in memory, up to the bound."""
        while self.has_room:
            if self._has_table_to_send:
                self._put_table()
                continue
            data = self.stream.next(OUTPUT_BYTES_MAX - self._output_bytes)
            if data:
                self._put((encode_data_head(self.stream.sent - len(data), len(data)), data))
                self._rate.add(len(data), now)
        if self.is_over or self.stream.failure is None:
            return ()
        return [self.end(*self.stream.failure)]

    def send_heartbeat(self, epoch: int, safe: int, asked: int, now: float) -> None:
        """Send a heartbeat if one is due; called each turn after `fill`. It is due each
        HEARTBEAT_SECONDS, at once with a new question, and soon after the safe position has moved,
        sooner beside other output."""
        if not self.is_following or self._cannot_send_heartbeat:
            return
        if self._last_heartbeat is not None:
            last, at = self._last_heartbeat
            due_at = at + HEARTBEAT_SECONDS
            if safe > last.safe:
                self._safe_due_at = at + SAFE_SECONDS
                due_at = at + (BESIDE_SECONDS if self._output else SAFE_SECONDS)
            if now < due_at and asked <= last.asked:
                return
        heartbeat = Heartbeat(epoch, self._store.log.end, safe, asked)
        self._last_heartbeat = heartbeat, now
        self._safe_due_at = NEVER
        self._has_heartbeat = True
        self._put((encode(heartbeat),))

    def table(self, number: int, name: str, content: bytes) -> None:
        """Replace the table of this name; the owner's numbers rise with each change."""
        unsent = self._unsent.get(name)
        if unsent is None:
            self._unsent[name] = _UnsentTable(number, content)
        else:
            unsent.content = content

    @property
    def missing_table(self) -> int | None:
        """The owner's lowest number of a change that the follower has not stored; None if it has
        all."""
        if not self._unsent and not self._unstored:
            return None  # a shortcut, as each report calls this
        firsts = [unsent.first for unsent in self._unsent.values()]
        firsts += [first for _, first in self._unstored]
        return min(firsts, default=None)

    def bytes_per_second(self, now: float) -> int:
        return self._rate.per_second(now)

    def _put_table(self) -> None:
        name = next(iter(self._unsent))
        unsent = self._unsent.pop(name)
        self._last_table += 1
        self._unstored.append((self._last_table, unsent.first))
        head = encode_table_head(self._last_table, name, len(unsent.content))
        self._put((head, unsent.content))

    def _put(self, output: Sequence[bytes]) -> None:
        self._output += output
        self._output_bytes += sum(map(len, output))

    # ------------------------------------------------------------------ receiving

    def _take_handshake(self, frame: HandshakeFrame) -> Sequence[IncomingLinkEvent]:
        try:
            output, member_report = self._handshake.take(frame)
        except RemoteError as error:
            return [self.end(Ending.GARBAGE, str(error))]
        if output:
            self._output.append(output)
        if member_report is None:
            self._reader.expect(_NEXT[frame.kind])
            return ()
        self._enter(IDENTIFY)
        self.member_report = member_report
        self._reader.expect()
        return [Identified(self.member, member_report)]

    def _take_report(self, report: Report) -> Sequence[IncomingLinkEvent]:
        """Process a report. A follower that first has to truncate its log sends none that
        counts."""
        if not self.stream.is_open:
            return ()
        last, asked = self.report, self._last_heartbeat[0].asked if self._last_heartbeat else 0
        if not (
            last.received <= report.received <= self.stream.sent
            and last.flushed <= report.flushed <= report.received
            and last.promised <= report.promised <= asked
            and last.stored <= report.stored <= self._last_table
            and last.is_leaving <= report.is_leaving
        ):
            text = (
                f"{report} is impossible: the last report was {last}, and the master has sent the"
            )
            return [self.end(Ending.GARBAGE, f"{text} log up to {self.stream.sent}")]
        self.report, self.has_reported = report, True
        while self._unstored and self._unstored[0][0] <= report.stored:
            self._unstored.popleft()
        return ()
