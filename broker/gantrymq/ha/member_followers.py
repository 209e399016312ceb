"""All members that are connected to us, and what store and set are told of them.

    opened  ->  heard from ...  ->  closed         each connection
    lead    ->  turn ...        ->  retire         each reign; in between nobody may follow
    turn                                           once a turn, behind the store's

Whoever has proven to be a member of the group is answered: it may follow while we lead, else it is
refused and learns by that what our log is. Each turn sends what is new in the log to all whom the
network lets, and tells them up to where it is safe: what all have who may become master. That, and
no report alone, is also what answers the puts that wait.

Invariants. `in_sync` hears of a member only what it reports on the link that we hold for its only
one. The safe mark never goes back within a reign: what was acknowledged, or read, stays so. Below
`min_in_sync` nothing is acknowledged, whatever the members say; once the lease says that the set is
so small, puts that wait are answered at once. But a new master lets them wait a moment: its set is
often itself alone until the others have connected.

Bounds: `LINKS_MAX` connections, of which one that has proven nothing makes room for the next;
member_follower.py has those of each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.base.errors import LocalError
from gantrymq.ha import log_stream
from gantrymq.ha.events import Ended, Ending
from gantrymq.ha.handshake import MastersMeeting, Member, Standing
from gantrymq.ha.in_sync import InSync
from gantrymq.ha.link_settings import LinkSettings
from gantrymq.ha.member_events import MemberFollowersEvent, Met, NewerEpoch, Reported
from gantrymq.ha.member_follower import MemberFollower, Phase
from gantrymq.ha.member_frames import TABLE_BYTES_MAX, Report
from gantrymq.ha.seat_conflicts import SeatConflicts
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# A group has a handful of members; each may hold some megabytes.
LINKS_MAX: Final = 32

# What travels with the log is looked at so often.
TABLES_SECONDS: Final = 1.0

# After a promotion the others find the new master, connect and come back into the set: a lookup of
# its name, a handshake and two writes of the Lease. Sends wait for that so long, within the 3 s of
# a producer.
RETURN_SECONDS: Final = 2.0

# A promise lasts a lease duration: of older questions nobody needs to know.
QUESTIONS_MAX: Final = 64

NEVER: Final = float("inf")


@final
@dataclass(slots=True)
class _Reign:
    """From when we become master until we are it no more."""

    epoch: int
    in_sync: InSync
    tables_at: float
    safe: int
    held: int
    """All of the set have had the log up to here."""
    returns_by: float
    """Until then sends wait for members that come back, where the set is too small; NEVER: the
    answer says at once that it is."""
    conflicts: SeatConflicts = field(default_factory=SeatConflicts)
    asked: int = 0
    questions: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=QUESTIONS_MAX))
    promised: dict[int, int] = field(default_factory=dict)
    """By member, the last question that it answered."""
    tables: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    """By member, up to which of our numbers it has stored all tables."""
    answered: int | None = None
    """Up to which number somebody was told that all members in sync have stored them; None: what
    was there when the epoch began has no number yet."""


@final
class MemberFollowers:
    """Of one member, whose store is open."""

    __slots__ = (
        "_current",
        "_last_table",
        "_links",
        "_nonce",
        "_over",
        "_reign",
        "_settings",
        "_standing",
        "_store",
    )

    def __init__(
        self,
        store: Store,
        settings: LinkSettings,
        standing: Callable[[], Standing],
        nonce: Callable[[], bytes],
    ) -> None:
        """`standing` is ours at this moment; `nonce` gives bytes that were never given before."""
        self._current: dict[int, MemberFollower] = {}
        """By member, the link that it follows by."""
        self._last_table = 0
        self._links: dict[int, MemberFollower] = {}
        self._nonce = nonce
        self._over: list[tuple[MemberFollower, Ended]] = []
        """Who was ended, and the owner does not know yet."""
        self._reign: _Reign | None = None
        self._settings = settings
        self._standing = standing
        self._store = store

    # ------------------------------------------------------------------ reigns

    def lead(self, epoch: int, in_sync: InSync, now: float) -> None:
        """We are master from now on. What the store shows consumers at this moment is safe."""
        assert self._reign is None
        store = self._store
        safe = self._dispatched if store.safe is None else store.safe
        waits = self._settings.waits
        held, returns_by = (safe, now + RETURN_SECONDS) if waits else (0, NEVER)
        self._reign = _Reign(epoch, in_sync, now, safe, held, returns_by)
        store.waiters.for_members = waits
        self._settle()

    def retire(self, now: float) -> None:
        """We are not, any more: nobody follows us, and nothing is acknowledged."""
        del now
        self._reign = None
        for link in self._links.values():
            self._end(link, Ending.CLOSED, "we are not master any more")
        self._current.clear()

    @property
    def safe(self) -> int:
        """Up to where consumers may read; of a master."""
        return 0 if self._reign is None else self._reign.safe

    # ------------------------------------------------------------------ connections

    def opened(self, number: int, address: str, now: float) -> MemberFollower | None:
        """A connection came in, and gets this number, which none had before. None when there are
        too many, and it is to be closed."""
        if len(self._links) >= LINKS_MAX:
            stranger = self._stranger()
            if stranger is None:
                return None
            self._end(stranger, Ending.CLOSED, "it said nothing, and others came")
            del self._links[stranger.number]
        settings = self._settings
        meeting = MastersMeeting(settings.me, settings.secret, self._nonce())
        link = MemberFollower(number, address, meeting, self._store, now)
        self._links[number] = link
        return link

    def _stranger(self) -> MemberFollower | None:
        """Who makes room: of those that have proven nothing the oldest of the address that has most
        of them, so that a flood from one place pushes out nobody else."""
        meeting = [each for each in self._links.values() if each.phase is Phase.MEETING]
        hosts = [each.address.rpartition(":")[0] for each in meeting]
        crowds = [hosts.count(host) for host in hosts]
        pairs = zip(crowds, meeting, strict=True)
        most = max((crowd for crowd, each in pairs if not each.is_over), default=0)
        for crowd, each in zip(crowds, meeting, strict=True):
            if crowd == most and not each.is_over:
                return each
        return None

    def heard(
        self, link: MemberFollower, data: bytes, now: float
    ) -> Sequence[MemberFollowersEvent]:
        """What it says; what is acknowledged by that is answered in the store's next turn."""
        events: list[MemberFollowersEvent] = []
        for event in link.receive(data, now):
            match event:
                case Met(member, standing):
                    events.append(event)
                    events += self._answer(link, member, standing, now)
                case Reported(report):
                    self._count(link, report, now)
                case Ended():
                    self._lose(link)
                    events.append(event)
        return events

    def closed(self, link: MemberFollower) -> None:
        """Its connection is gone."""
        link.closed()
        self._lose(link)
        self._links.pop(link.number, None)

    def _answer(
        self, link: MemberFollower, member: Member, theirs: Standing, now: float
    ) -> Sequence[NewerEpoch]:
        """Who has proven to be a member of the group may follow us, or not."""
        ours, reign = self._standing(), self._reign
        me, number = self._settings.me.number, member.number
        if number not in self._settings.members:
            names = ", ".join(map(str, sorted(self._settings.members)))
            words = f"member {number} is not configured here: members of the group are {names}"
            link.refuse("unknown-member", words, ours)
            return ()
        if theirs.group and ours.group and theirs.group != ours.group:
            words = f"the disk of member {number} is of the group {theirs.group}, not {ours.group}"
            link.refuse("other-group", words, ours)
            return ()
        if theirs.epoch > ours.epoch and (ours.group or not theirs.group):
            words = f"member {number} knows epoch {theirs.epoch}, and member {me} {ours.epoch} only"
            link.refuse("stale", words, ours)
            # The epochs of a disk that has not taken our group's UUID may be another group's.
            return [NewerEpoch(theirs.epoch)] if theirs.group == ours.group else ()
        if reign is None:
            link.refuse("not-master", f"member {me} is not master", ours)
            return ()
        former = self._current.get(number)
        taken = self._seat_of(reign, number, theirs.disk, former)
        if taken is not None:
            reign.conflicts.refused(number, taken, now)
            link.refuse("seat-taken", taken, ours)
            return ()
        if former is not None:
            self._end(former, Ending.REPLACED, "it has come by another connection")
        link.welcome(ours, now)
        self._current[number] = link
        reign.in_sync.meets(number, theirs.disk)
        for name, (table, content) in reign.tables.items():
            link.table(table, name, content)
        return ()

    def _seat_of(
        self, reign: _Reign, number: int, disk: str, former: MemberFollower | None
    ) -> str | None:
        """Why somebody with this disk may not follow as this member; None where it may."""
        counted = reign.in_sync.other_disk(number, disk)
        if counted is not None:
            return (
                f"member {number} counts with the disk {counted}, and this is {disk or 'another'}:"
                " it may follow once that one is out of the in-sync set"
            )
        if former is None or former.standing is None or former.standing.disk == disk:
            return None
        return (
            f"two processes say that they are member {number}: {former.address} follows with the"
            f" disk {former.standing.disk}, so this one, with {disk or 'none'}, is to be stopped"
        )

    def _end(self, link: MemberFollower, ending: Ending, text: str) -> None:
        """The owner hears of it in the next turn."""
        if not link.is_over:
            self._over.append((link, link.end(ending, text)))
            self._lose(link)

    def _lose(self, link: MemberFollower) -> None:
        """It follows no more."""
        if link.standing is None or self._current.get(link.member.number) is not link:
            return
        del self._current[link.member.number]
        if self._reign is not None:
            self._reign.in_sync.lost(link.member.number)

    # ------------------------------------------------------------------ what followers have

    def _count(self, link: MemberFollower, report: Report, now: float) -> None:
        """Whoever may become master has so much."""
        reign, number = self._reign, link.member.number
        assert reign is not None
        assert self._current[number] is link, "a link that was replaced is over"
        reign.promised[number] = max(report.promised, reign.promised.get(number, 0))
        missing = link.missing_table
        reign.stored[number] = self._last_table if missing is None else missing - 1
        if self._is_sound(reign, link, report):
            reign.in_sync.heard(number, report, self._store.log.end, now)
            self._settle()

    def _is_sound(self, reign: _Reign, link: MemberFollower, report: Report) -> bool:
        """Whether its log is what the set goes by. A member of the set that comes back with less
        than all of them had has lost something: unless it soon has that again, it is to go, not to
        hold up everybody. Who is none yet needs all of the log from its beginning on; what a
        member lacks there its own retention has deleted. And it needs the changes of tables that
        were answered without it."""
        if link.member.number in reign.in_sync.persisted:
            has = report.flushed if self._settings.flushes else report.received
            return has >= reign.held
        if reign.answered is None or reign.stored[link.member.number] < reign.answered:
            return False
        return link.log_start <= self._store.log.start

    def _settle(self) -> None:
        """What is acknowledged by now: the store answers, and shows what is safe."""
        reign, settings, store = self._reign, self._settings, self._store
        if reign is None:
            return
        marks = Report(store.log.end, store.flushed)
        acknowledged = reign.in_sync.acknowledged(marks)
        reign.held = max(reign.held, acknowledged)
        if not settings.waits:
            safe = min(self._dispatched, store.flushed) if settings.flushes else self._dispatched
            reign.safe = max(reign.safe, safe)
            store.safe = None
            return
        store.safe = reign.safe = max(reign.safe, acknowledged)
        missing = self._missing(reign.in_sync)
        if missing is None:
            store.waiters.missing = None
            store.waiters.replicated(acknowledged)
        elif reign.returns_by < NEVER:
            store.waiters.missing = None
        elif len(reign.in_sync.persisted) < settings.min_in_sync:
            store.waiters.miss(missing)
        else:  # the shrink may fail, and who waits be acknowledged by the set as it is
            store.waiters.missing = missing

    @property
    def _dispatched(self) -> int:
        """Up to here queues and index know the log."""
        return self._store.log.end - self._store.dispatch_behind

    def _missing(self, in_sync: InSync) -> str | None:
        """Why nothing is acknowledged now."""
        if in_sync.size >= self._settings.min_in_sync:
            return None
        members = ", ".join(map(str, sorted(in_sync.sure)))
        return (
            f"The message is stored, but too few members have it: in sync are {in_sync.size} "
            f"({members}), and minInSyncReplicas is {self._settings.min_in_sync}. A member that "
            "follows comes back by itself once it has all of the log; see mqadmin haStatus."
        )

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float) -> Sequence[tuple[MemberFollower, Ended]]:
        """Output for all who are behind; who is at an end, and is to be closed."""
        reign = self._reign
        if reign is not None:
            reign.in_sync.turn(now)
            self._let_go(reign)
            if now >= reign.returns_by:
                reign.returns_by = NEVER
        self._settle()
        if self._store.log_readings.is_due:
            streams = {number: each.stream for number, each in self._links.items()}
            log_stream.turn(self._store.log_readings, streams)
        for link in self._links.values():
            events = link.expire(now)
            if reign is not None and link.is_following:
                events = link.fill(now)
                link.beat(reign.epoch, reign.safe, reign.asked, now)
            for event in events:
                assert isinstance(event, Ended)
                self._lose(link)
                self._over.append((link, event))
        over, self._over = self._over, []
        return over

    def _let_go(self, reign: _Reign) -> None:
        """Who is leaving, and counts no more."""
        for number, link in list(self._current.items()):
            if link.report.is_leaving and number not in reign.in_sync.counted:
                self._end(link, Ending.CLOSED, f"member {number} leaves, and nobody waits for it")

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do at once."""
        if self._over:
            return True
        for link in self._links.values():  # a loop, as each turn asks
            if link.has_room:
                return True
        return bool(self._links) and self._store.log_readings.is_due

    def deadline(self) -> float:
        """When `turn` has something to do, or `tables` has."""
        if self.is_due:
            return float("-inf")
        reign = self._reign
        due = self.tables_at
        if reign is not None and reign.returns_by < due:
            due = reign.returns_by
        for link in self._links.values():
            if not link.is_over:
                due = min(due, link.deadline())
        return due

    # ------------------------------------------------------------------ promises

    def ask_promise(self, number: int, now: float) -> None:
        """Ask all not to seek the lease; numbers rise."""
        reign = self._reign
        if reign is None or number <= reign.asked:
            return
        reign.asked = number
        reign.questions.append((number, now))
        for link in self._current.values():
            link.beat(reign.epoch, reign.safe, number, now)

    def promised_since(self, members: AbstractSet[int]) -> float | None:
        """When the last question was sent that all of these have answered; None: there is none."""
        reign = self._reign
        if reign is None:
            return None
        others = members - {self._settings.me.number}
        answered = min((reign.promised.get(each, 0) for each in others), default=reign.asked)
        times = (sent_at for number, sent_at in reversed(reign.questions) if number <= answered)
        return next(times, None)

    # ------------------------------------------------------------------ tables

    @property
    def tables_at(self) -> float:
        """When `tables` is to be called next."""
        reign = self._reign
        return float("inf") if reign is None or not self._current else reign.tables_at

    def tables(self, content: Mapping[str, bytes], now: float) -> int:
        """What travels with the log, as it is now: what has changed goes to all. The number that
        `stored_by` reaches once all of this is stored."""
        reign = self._reign
        if reign is None:
            return self._last_table
        reign.tables_at = now + TABLES_SECONDS
        for name, data in content.items():
            known = reign.tables.get(name)
            if known is not None and known[1] == data:
                continue
            if len(data) > TABLE_BYTES_MAX // 2:
                raise LocalError(f"the table {name} of {len(data)} bytes is too large to be sent")
            self._last_table += 1
            reign.tables[name] = self._last_table, data
            for link in self._current.values():
                link.table(self._last_table, name, data)
        if reign.answered is None:
            reign.answered = self._last_table
        return self._last_table

    def lacking(self, number: int) -> Sequence[int]:
        """Who may become master, and has not stored all tables up to this number. Where that is
        nobody a change is answered, and whoever comes into the set has to have it as well."""
        reign = self._reign
        if reign is None:
            return ()
        lacking = [each for each in reign.in_sync.counted if self.stored_by({each}) < number]
        if not lacking:
            reign.answered = max(number, reign.answered or 0)
        return sorted(lacking)

    @property
    def held(self) -> int:
        """Up to where all who may become master have had the log, since this reign began."""
        return 0 if self._reign is None else self._reign.held

    def stored_by(self, members: AbstractSet[int]) -> int:
        """All of these have stored all tables up to this number."""
        reign = self._reign
        if reign is None:
            return 0
        others = members - {self._settings.me.number}
        return min((reign.stored.get(each, 0) for each in others), default=self._last_table)

    # ------------------------------------------------------------------ figures

    def has_all(self, member: int) -> bool:
        """Whether it follows, and is to stay, and its log ends where ours does."""
        link = self._current.get(member)
        if link is None or link.report.is_leaving:
            return False
        return link.report.received == self._store.log.end

    def takes_messages(self, member: int) -> bool:
        """Whether it follows, and is to stay, and could take messages if it were master."""
        link = self._current.get(member)
        if link is None or not link.has_reported:
            return False
        return not (link.report.is_leaving or link.report.is_refusing)

    def conflicts(self, now: float) -> Sequence[str]:
        """Seats that two processes claim at the same time, as a master sees it."""
        return () if self._reign is None else self._reign.conflicts.lasting(now)

    def statuses(self, now: float) -> Sequence[FollowerStatus]:
        """Of those who follow."""
        reign, end = self._reign, self._store.log.end
        if reign is None:
            return ()
        return [
            FollowerStatus(
                link.address,
                link.report.received,
                max(0, end - link.report.received),
                link.bytes_per_second(now),
                is_in_sync=number in reign.in_sync.persisted,
            )
            for number, link in sorted(self._current.items())
        ]
