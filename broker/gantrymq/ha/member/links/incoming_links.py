"""Manages a member's incoming links; feeds the in-sync set and the store with their reports.

    opened  ->  received ...    ->  closed         each connection
    lead    ->  turn ...        ->  retire         each epoch led; otherwise all are refused
    turn                                           once a turn, after the store's

A peer that has proved to be a member of the group gets an answer: it may follow while this member
is master; otherwise it is refused, and learns from the refusal what this member's log is. Each turn
sends what is new in the log to all followers whose network accepts it, with the safe position: the
position up to which all members have the log that may become master. This position, not a single
report, completes the sends that wait.

Invariants. `in_sync` gets only the reports of the link that counts as a member's only one. The safe
position never decreases within an epoch: what was acknowledged or read stays safe. Below
`min_in_sync` nothing is acknowledged, whatever the members report; once the lease names a set that
is too small, waiting sends are answered at once. A new master first lets them wait for a moment:
its set often contains only itself until the others have connected.

Bounds: `LINKS_MAX` connections, of which one that has not proved itself makes room for the next;
incoming_link.py has those of each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import LocalError
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.link_phase import LinkPhase
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.links.member_events import (
    Identified,
    IncomingLinksEvent,
    NewerEpoch,
    Reported,
)
from gantrymq.ha.member.links.seat_conflicts import SeatConflicts
from gantrymq.ha.protocol import log_stream
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.handshake import IncomingHandshake, Member, MemberReport
from gantrymq.ha.protocol.member_frames import TABLE_BYTES_MAX, Report
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# A group has a handful of members; each may hold some megabytes.
LINKS_MAX: Final = 32

# The interval between two comparisons of the tables that are replicated with the log.
TABLES_SECONDS: Final = 1.0

# After a promotion the other members look up the new master's name, connect, and return to the set
# with two writes of the Lease. Sends wait this long for that, within the 3 s timeout of a producer.
RETURN_SECONDS: Final = 2.0

# A promise lasts for one lease duration: older questions are of no use.
QUESTIONS_MAX: Final = 64


@final
@dataclass(slots=True)
class _LedEpoch:
    """The state of the epoch in which this member is master."""

    epoch: int
    in_sync: InSyncReplicas
    tables_at: float
    safe: int
    held: int
    """The position up to which all in-sync members have had the log."""
    returns_by: float
    """Until when sends wait for members to return to a set that is too small; NEVER: they are
    answered at once."""
    conflicts: SeatConflicts = field(default_factory=SeatConflicts)
    asked: int = 0
    questions: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=QUESTIONS_MAX))
    promised: dict[int, int] = field(default_factory=dict)
    """By member, the last question that it answered."""
    tables: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    """By member, the number up to which it has stored all tables."""
    answered: int | None = None
    """The highest table number that was confirmed as stored by all in-sync members; None while the
    tables that existed when the epoch began have no number yet."""


@final
class IncomingLinks:
    """The incoming links of a member whose store is open; the member owns them."""

    __slots__ = (
        "_current",
        "_last_table",
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
        self._last_table = 0
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
        store = self._store
        safe = self._dispatched if store.safe is None else store.safe
        waits = self._settings.waits
        held, returns_by = (safe, now + RETURN_SECONDS) if waits else (0, NEVER)
        self._led = _LedEpoch(epoch, in_sync, now, safe, held, returns_by)
        store.waiters.for_members = waits
        self._update_safe_position()

    def retire(self, now: float) -> None:
        """Stop being master: all links are closed, and nothing is acknowledged."""
        del now
        self._led = None
        for link in self._links.values():
            self._end(link, Ending.CLOSED, "this member is no longer master")
        self._current.clear()

    @property
    def safe(self) -> int:
        """The position up to which consumers may read; 0 unless this member is master."""
        return 0 if self._led is None else self._led.safe

    # ------------------------------------------------------------------ connections

    def opened(self, number: int, address: str, now: float) -> IncomingLink | None:
        """Add a connection with this number, which was never used before. None if there are too
        many and it has to be closed."""
        if len(self._links) >= LINKS_MAX:
            unproven = self._displaced()
            if unproven is None:
                return None
            self._end(
                unproven,
                Ending.CLOSED,
                "the peer sent no proof, and its place was needed for another connection",
            )
            del self._links[unproven.number]
        settings = self._settings
        peer_handshake = IncomingHandshake(settings.me, settings.secret, self._nonce())
        link = IncomingLink(number, address, peer_handshake, self._store, now)
        self._links[number] = link
        return link

    def _displaced(self) -> IncomingLink | None:
        """The link that makes room: of the links without proof the oldest of the address that has
        most of them, so that a flood from one address displaces only its own links."""
        peer_handshake = [
            each for each in self._links.values() if each.phase is LinkPhase.HANDSHAKE
        ]
        hosts = [each.address.rpartition(":")[0] for each in peer_handshake]
        counts = [hosts.count(host) for host in hosts]
        pairs = zip(counts, peer_handshake, strict=True)
        most = max((count for count, each in pairs if not each.is_over), default=0)
        for count, each in zip(counts, peer_handshake, strict=True):
            if count == most and not each.is_over:
                return each
        return None

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
        ours, led = self._member_report(), self._led
        me, number = self._settings.me.number, member.number
        if number not in self._settings.members:
            names = ", ".join(map(str, sorted(self._settings.members)))
            text = f"member {number} is not in groupMembers of this member, which has {names}"
            link.refuse("unknown-member", text, ours)
            return ()
        if theirs.group and ours.group and theirs.group != ours.group:
            text = (
                f"the disk of member {number} belongs to the group {theirs.group}, not {ours.group}"
            )
            link.refuse("other-group", text, ours)
            return ()
        if theirs.epoch > ours.epoch and (ours.group or not theirs.group):
            text = f"member {number} knows epoch {theirs.epoch}, and member {me} only {ours.epoch}"
            link.refuse("stale", text, ours)
            # A disk that has not taken this group's UUID may have the epochs of another group.
            return [NewerEpoch(theirs.epoch)] if theirs.group == ours.group else ()
        if led is None:
            link.refuse("not-master", f"member {me} is not master", ours)
            return ()
        former = self._current.get(number)
        conflict = self._seat_conflict(led, number, theirs.disk, former)
        if conflict is not None:
            led.conflicts.refused(number, conflict, now)
            link.refuse("seat-taken", conflict, ours)
            return ()
        if former is not None:
            self._end(former, Ending.REPLACED, "the member has opened another connection")
        link.welcome(ours, now)
        self._current[number] = link
        led.in_sync.follows_with(number, theirs.disk)
        for name, (table, content) in led.tables.items():
            link.table(table, name, content)
        return ()

    def _seat_conflict(
        self, led: _LedEpoch, number: int, disk: str, former: IncomingLink | None
    ) -> str | None:
        """Why a process with this disk may not follow as this member; None if it may."""
        counted = led.in_sync.other_disk(number, disk)
        if counted is not None:
            return (
                f"member {number} is in sync with the disk {counted}, and this process has the disk"
                f" {disk or 'unknown'}: it may follow once the other disk has left the in-sync set"
            )
        if former is None or former.member_report is None or former.member_report.disk == disk:
            return None
        return (
            f"two processes claim to be member {number}: {former.address} follows with the"
            f" disk {former.member_report.disk}, so stop this one, which has the disk"
            f" {disk or 'none'}"
        )

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
        led.promised[number] = max(report.promised, led.promised.get(number, 0))
        missing = link.missing_table
        led.stored[number] = self._last_table if missing is None else missing - 1
        if self._counts_for_isr(led, link, report):
            led.in_sync.reported(number, report, self._store.log.end, now)
            self._update_safe_position()

    def _counts_for_isr(self, led: _LedEpoch, link: IncomingLink, report: Report) -> bool:
        """Whether the follower's log counts for the in-sync set. An in-sync member that comes back
        with less than all members had has lost data: unless it soon catches up, it is removed
        instead of delaying all sends. A member outside the set needs the whole log from its
        beginning on, while an in-sync member may lack what its own retention has deleted there. A
        member outside the set also needs all changes of tables that were confirmed without it."""
        if link.member.number in led.in_sync.persisted:
            has = report.flushed if self._settings.flushes else report.received
            return has >= led.held
        if led.answered is None or led.stored[link.member.number] < led.answered:
            return False
        return link.log_start <= self._store.log.start

    def _update_safe_position(self) -> None:
        """Pass the acknowledged and the safe position to the store, which answers the waiting
        sends."""
        led, settings, store = self._led, self._settings, self._store
        if led is None:
            return
        marks = Report(store.log.end, store.flushed)
        acknowledged = led.in_sync.acknowledged(marks)
        led.held = max(led.held, acknowledged)
        if not settings.waits:
            safe = min(self._dispatched, store.flushed) if settings.flushes else self._dispatched
            led.safe = max(led.safe, safe)
            store.safe = None
            return
        store.safe = led.safe = max(led.safe, acknowledged)
        missing = self._missing(led.in_sync)
        if missing is None:
            store.waiters.missing = None
            store.waiters.replicated(acknowledged)
        elif led.returns_by < NEVER:
            store.waiters.missing = None
        elif len(led.in_sync.persisted) < settings.min_in_sync:
            store.waiters.miss(missing)
        else:  # the removal may fail, and the present set may still acknowledge
            store.waiters.missing = missing

    @property
    def _dispatched(self) -> int:
        """The position up to which queues and index include the log."""
        return self._store.log.end - self._store.dispatch_behind

    def _missing(self, in_sync: InSyncReplicas) -> str | None:
        """Why nothing is acknowledged now; None if enough members are in sync."""
        if in_sync.size >= self._settings.min_in_sync:
            return None
        members = ", ".join(map(str, sorted(in_sync.trusted)))
        return (
            f"The message is stored, but too few members have it: in sync are {in_sync.size} "
            f"({members}), and minInSyncReplicas is {self._settings.min_in_sync}. A member that "
            "follows comes back by itself once it has all of the log; see mqadmin haStatus."
        )

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float) -> Sequence[tuple[IncomingLink, Ended]]:
        """Make output for all followers that are behind. Returns the links that have to be
        closed."""
        led = self._led
        if led is not None:
            led.in_sync.turn(now)
            self._close_leaving(led)
            if now >= led.returns_by:
                led.returns_by = NEVER
        self._update_safe_position()
        if self._store.log_reader.is_due:
            streams = {number: each.stream for number, each in self._links.items()}
            log_stream.turn(self._store.log_reader, streams)
        for link in self._links.values():
            events = link.expire(now)
            if led is not None and link.is_following:
                events = link.fill(now)
                link.send_heartbeat(led.epoch, led.safe, led.asked, now)
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
                self._end(
                    link,
                    Ending.CLOSED,
                    f"member {number} leaves, and no acknowledgement waits for it",
                )

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
        led = self._led
        due = self.tables_at
        if led is not None and led.returns_by < due:
            due = led.returns_by
        for link in self._links.values():
            if not link.is_over:
                due = min(due, link.deadline())
        return due

    # ------------------------------------------------------------------ promises

    def ask_promise(self, number: int, now: float) -> None:
        """Ask all followers to promise not to seek the lease; numbers rise."""
        led = self._led
        if led is None or number <= led.asked:
            return
        led.asked = number
        led.questions.append((number, now))
        for link in self._current.values():
            link.send_heartbeat(led.epoch, led.safe, number, now)

    def promised_since(self, members: AbstractSet[int]) -> float | None:
        """When the last question was sent that all of these members have answered; None if there is
        none."""
        led = self._led
        if led is None:
            return None
        others = members - {self._settings.me.number}
        answered = min((led.promised.get(each, 0) for each in others), default=led.asked)
        times = (sent_at for number, sent_at in reversed(led.questions) if number <= answered)
        return next(times, None)

    # ------------------------------------------------------------------ tables

    @property
    def tables_at(self) -> float:
        """When `tables` has to be called next."""
        led = self._led
        return NEVER if led is None or not self._current else led.tables_at

    def tables(self, content: Mapping[str, bytes], now: float) -> int:
        """Send the tables that have changed to all followers. `content`: all tables that are
        replicated with the log. Returns the number that `stored_by` reaches once all of this is
        stored."""
        led = self._led
        if led is None:
            return self._last_table
        led.tables_at = now + TABLES_SECONDS
        for name, data in content.items():
            known = led.tables.get(name)
            if known is not None and known[1] == data:
                continue
            if len(data) > TABLE_BYTES_MAX // 2:
                raise LocalError(f"the table {name} of {len(data)} bytes is too large to replicate")
            self._last_table += 1
            led.tables[name] = self._last_table, data
            for link in self._current.values():
                link.table(self._last_table, name, data)
        if led.answered is None:
            led.answered = self._last_table
        return self._last_table

    def lacking(self, number: int) -> Sequence[int]:
        """The members that may become master and have not stored all tables up to this number. If
        there are none, the change is confirmed, and a member that enters the set later has to have
        it as well."""
        led = self._led
        if led is None:
            return ()
        lacking = [each for each in led.in_sync.counted if self.stored_by({each}) < number]
        if not lacking:
            led.answered = max(number, led.answered or 0)
        return sorted(lacking)

    @property
    def held(self) -> int:
        """The position up to which all members that may become master have had the log in this
        epoch."""
        return 0 if self._led is None else self._led.held

    def stored_by(self, members: AbstractSet[int]) -> int:
        """The number up to which all of these members have stored all tables."""
        led = self._led
        if led is None:
            return 0
        others = members - {self._settings.me.number}
        return min((led.stored.get(each, 0) for each in others), default=self._last_table)

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
