"""Manages a member's incoming links; feeds the in-sync set and the store with their reports.

    opened  ->  received ...    ->  closed         each connection
    lead    ->  turn ...        ->  retire         each epoch led; otherwise all are refused
    turn                                           once a turn, after the store's

A peer that has proved to be a member of the group gets an answer (admission.py): it may follow
while this member is master; otherwise it is refused, and learns from the refusal what this member's
log is. Each turn sends what is new in the log to all followers whose network accepts it, with the
safe position (safe_position.py) and the tables that have changed (table_replication.py).

Invariant. `in_sync` gets only the reports of the link that counts as a member's only one.

Bounds: `LINKS_MAX` connections, of which one that has not proved itself makes room for the next;
incoming_link.py has those of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links.admission import displaced, refusal_by_any_member, seat_conflict
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.lease_promises import LeasePromises
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.links.member_events import (
    Identified,
    IncomingLinksEvent,
    NewerEpoch,
    Reported,
)
from gantrymq.ha.member.links.safe_position import SafePosition
from gantrymq.ha.member.links.seat_conflicts import SeatConflicts
from gantrymq.ha.member.links.table_replication import TableReplication
from gantrymq.ha.protocol import log_stream
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.handshake import IncomingHandshake, Member, MemberReport
from gantrymq.ha.protocol.member_frames import Report
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# A group has a handful of members; each may hold some megabytes.
LINKS_MAX: Final = 32


@final
@dataclass(slots=True)
class _LedEpoch:
    """The state of the epoch in which this member is master."""

    epoch: int
    in_sync: InSyncReplicas
    position: SafePosition
    tables: TableReplication
    conflicts: SeatConflicts = field(default_factory=SeatConflicts)
    promises: LeasePromises = field(default_factory=LeasePromises)


@final
class IncomingLinks:
    """The incoming links of a member whose store is open; the member owns them."""

    __slots__ = (
        "_current",
        "_last_table_number",
        "_led",
        "_links",
        "_member_report",
        "_nonce",
        "_over",
        "_settings",
        "_store",
    )

    def __init__(
        self,
        store: Store,
        settings: LinkSettings,
        member_report: Callable[[], MemberReport],
        nonce: Callable[[], bytes],
    ) -> None:
        """`member_report` returns this member's current report; `nonce` returns bytes never
        returned before."""
        self._current: dict[int, IncomingLink] = {}
        """By member, the link that counts."""
        self._last_table_number = 0
        """The number of the last table of the epochs that this member has led before."""
        self._links: dict[int, IncomingLink] = {}
        self._nonce = nonce
        self._over: list[tuple[IncomingLink, Ended]] = []
        """Links that have ended, and that the next turn reports to the owner."""
        self._led: _LedEpoch | None = None
        self._settings = settings
        self._member_report = member_report
        self._store = store

    # ------------------------------------------------------------------ epochs led

    def lead(self, epoch: int, in_sync: InSyncReplicas, now: float) -> None:
        """Become master. The log is safe up to the position that consumers can already read."""
        assert self._led is None
        store, settings = self._store, self._settings
        position = SafePosition(store, settings, in_sync, now)
        tables = TableReplication(self._last_table_number, now)
        self._led = _LedEpoch(epoch, in_sync, position, tables)
        store.waiters.for_members = settings.waits
        position.update()

    def retire(self, now: float) -> None:
        """Stop being master: all links are closed, and nothing is acknowledged."""
        del now
        if self._led is not None:
            self._last_table_number = self._led.tables.last_number
        self._led = None
        for link in self._links.values():
            self._end(link, Ending.CLOSED, "this member is no longer master")
        self._current.clear()

    @property
    def safe(self) -> int:
        """The position up to which consumers may read; 0 unless this member is master."""
        return 0 if self._led is None else self._led.position.safe

    # ------------------------------------------------------------------ connections

    def opened(self, number: int, address: str, now: float) -> IncomingLink | None:
        """Add a connection with this number, which was never used before. None if there are too
        many and it has to be closed."""
        if len(self._links) >= LINKS_MAX:
            unproven = displaced(self._links.values())
            if unproven is None:
                return None
            text = "the peer sent no proof, and its place was needed for another connection"
            self._end(unproven, Ending.CLOSED, text)
            del self._links[unproven.number]
        settings = self._settings
        peer_handshake = IncomingHandshake(settings.me, settings.secret, self._nonce())
        link = IncomingLink(number, address, peer_handshake, self._store, now)
        self._links[number] = link
        return link

    def received(self, link: IncomingLink, data: bytes, now: float) -> Sequence[IncomingLinksEvent]:
        """Process received bytes; sends that this acknowledges are answered in the store's next
        turn."""
        events: list[IncomingLinksEvent] = []
        for event in link.receive(data, now):
            match event:
                case Identified(member, member_report):
                    events.append(event)
                    events += self._answer(link, member, member_report, now)
                case Reported(report):
                    self._count(link, report, now)
                case Ended():
                    self._lose(link)
                    events.append(event)
        return events

    def closed(self, link: IncomingLink) -> None:
        """Remove a closed connection."""
        link.closed()
        self._lose(link)
        self._links.pop(link.number, None)

    def _answer(
        self, link: IncomingLink, member: Member, theirs: MemberReport, now: float
    ) -> Sequence[NewerEpoch]:
        """Accept or refuse a peer that has proved that it is a member of the group."""
        ours, led, number = self._member_report(), self._led, member.number
        refusal = refusal_by_any_member(self._settings, number, theirs, ours)
        if refusal is not None:
            link.refuse(refusal.reason, refusal.text, ours)
            return () if refusal.newer_epoch is None else [NewerEpoch(refusal.newer_epoch)]
        if led is None:
            link.refuse("not-master", f"member {self._settings.me.number} is not master", ours)
            return ()
        former = self._current.get(number)
        conflict = seat_conflict(led.in_sync, number, theirs.disk, former)
        if conflict is not None:
            led.conflicts.refused(number, conflict, now)
            link.refuse("seat-taken", conflict, ours)
            return ()
        if former is not None:
            self._end(former, Ending.REPLACED, "the member has opened another connection")
        link.welcome(ours, now)
        self._current[number] = link
        led.in_sync.follows_with(number, theirs.disk)
        for table, name, content in led.tables.current():
            link.table(table, name, content)
        return ()

    def _end(self, link: IncomingLink, ending: Ending, text: str) -> None:
        """End a link; the owner is told in the next turn."""
        if not link.is_over:
            self._over.append((link, link.end(ending, text)))
            self._lose(link)

    def _lose(self, link: IncomingLink) -> None:
        """Stop counting the link as its member's."""
        if link.member_report is None or self._current.get(link.member.number) is not link:
            return
        del self._current[link.member.number]
        if self._led is not None:
            self._led.in_sync.lost(link.member.number)

    # ------------------------------------------------------------------ reports

    def _count(self, link: IncomingLink, report: Report, now: float) -> None:
        """Record a report of a follower."""
        led, number = self._led, link.member.number
        assert led is not None
        assert self._current[number] is link, "a link that was replaced is over"
        led.promises.answer(number, report.promised)
        led.tables.reported(number, link.missing_table)
        if self._counts_for_isr(led, link, report):
            led.in_sync.reported(number, report, self._store.log.end, now)
            led.position.update()

    def _counts_for_isr(self, led: _LedEpoch, link: IncomingLink, report: Report) -> bool:
        """Whether the follower's log counts for the in-sync set. An in-sync member that comes back
        with less than all members had has lost data: unless it soon catches up, it is removed
        instead of delaying all sends. A member outside the set needs the whole log from its
        beginning on, while an in-sync member may lack what its own retention has deleted there. A
        member outside the set also needs all changes of tables that were confirmed without it."""
        if link.member.number in led.in_sync.persisted:
            has = report.flushed if self._settings.flushes else report.received
            return has >= led.position.held
        if not led.tables.has_confirmed(link.member.number):
            return False
        return link.log_start <= self._store.log.start

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float) -> Sequence[tuple[IncomingLink, Ended]]:
        """Make output for all followers that are behind. Returns the links that have to be
        closed."""
        led = self._led
        if led is not None:
            led.in_sync.turn(now)
            self._close_leaving(led)
            led.position.expire(now)
            led.position.update()
        if self._store.log_reader.is_due:
            streams = {number: each.stream for number, each in self._links.items()}
            log_stream.turn(self._store.log_reader, streams)
        for link in self._links.values():
            events = link.expire(now)
            if led is not None and link.is_following:
                events = link.fill(now)
                link.send_heartbeat(led.epoch, led.position.safe, led.promises.asked, now)
            for event in events:
                assert isinstance(event, Ended)
                self._lose(link)
                self._over.append((link, event))
        over, self._over = self._over, []
        return over

    def _close_leaving(self, led: _LedEpoch) -> None:
        """Close the links of leaving members that no acknowledgement waits for any more."""
        for number, link in list(self._current.items()):
            if link.report.is_leaving and number not in led.in_sync.counted:
                text = f"member {number} leaves, and no acknowledgement waits for it"
                self._end(link, Ending.CLOSED, text)

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do at once."""
        if self._over:
            return True
        for link in self._links.values():  # a loop, because each turn calls this
            if link.has_room:
                return True
        return bool(self._links) and self._store.log_reader.is_due

    def deadline(self) -> float:
        """When `turn` or `tables` has something to do."""
        if self.is_due:
            return float("-inf")
        led, due = self._led, self.tables_at
        if led is not None and led.position.returns_by < due:
            due = led.position.returns_by
        for link in self._links.values():
            if not link.is_over:
                due = min(due, link.deadline())
        return due

    # ------------------------------------------------------------------ promises

    def ask_promise(self, number: int, now: float) -> None:
        """Ask all followers to promise not to seek the lease; numbers rise."""
        led = self._led
        if led is None or number <= led.promises.asked:
            return
        led.promises.ask(number, now)
        for link in self._current.values():
            link.send_heartbeat(led.epoch, led.position.safe, number, now)

    def promised_since(self, members: AbstractSet[int]) -> float | None:
        """When the last question was sent that all of these members have answered; None if there is
        none."""
        led = self._led
        return None if led is None else led.promises.since(members - {self._settings.me.number})

    # ------------------------------------------------------------------ tables

    @property
    def tables_at(self) -> float:
        """When `tables` has to be called next."""
        led = self._led
        return NEVER if led is None or not self._current else led.tables.due_at

    def tables(self, content: Mapping[str, bytes], now: float) -> int:
        """Send the tables that have changed to all followers. `content`: all tables that are
        replicated with the log. Returns the number that `stored_by` reaches once all of this is
        stored."""
        led = self._led
        if led is None:
            return self._last_table_number
        for number, name, data in led.tables.changes(content, now):
            for link in self._current.values():
                link.table(number, name, data)
        return led.tables.last_number

    def lacking(self, number: int) -> Sequence[int]:
        """The members that may become master and have not stored all tables up to this number. If
        there are none, the change is confirmed, and a member that enters the set later has to have
        it as well."""
        led = self._led
        if led is None:
            return ()
        lacking = [each for each in led.in_sync.counted if self.stored_by({each}) < number]
        if not lacking:
            led.tables.confirm(number)
        return sorted(lacking)

    @property
    def held(self) -> int | None:
        """The position up to which all members that may become master have had the log in this
        epoch; None unless this member is master."""
        return None if self._led is None else self._led.position.held

    def stored_by(self, members: AbstractSet[int]) -> int:
        """The number up to which all of these members have stored all tables."""
        led = self._led
        return 0 if led is None else led.tables.stored_by(members - {self._settings.me.number})

    # ------------------------------------------------------------------ metrics and status

    def has_all(self, member: int) -> bool:
        """Whether the member follows, is not leaving, and its log ends where this one does."""
        link = self._current.get(member)
        if link is None or link.report.is_leaving:
            return False
        return link.report.received == self._store.log.end

    def accepts_messages(self, member: int) -> bool:
        """Whether the member follows, is not leaving, and could accept messages as master."""
        link = self._current.get(member)
        if link is None or not link.has_reported:
            return False
        return not (link.report.is_leaving or link.report.is_refusing)

    def conflicts(self, now: float) -> Sequence[str]:
        """The member numbers that two processes claim at the same time; empty unless this is the
        master."""
        return () if self._led is None else self._led.conflicts.lasting(now)

    def unlogged_conflicts(self, now: float) -> Sequence[str]:
        """The conflicts that have to be logged."""
        return () if self._led is None else self._led.conflicts.unlogged(now)

    def statuses(self, now: float) -> Sequence[FollowerStatus]:
        """The status of each follower."""
        led, end = self._led, self._store.log.end
        if led is None:
            return ()
        return [
            FollowerStatus(
                link.address,
                link.report.received,
                max(0, end - link.report.received),
                link.bytes_per_second(now),
                is_in_sync=number in led.in_sync.persisted,
            )
            for number, link in sorted(self._current.items())
        ]
