"""Manages a member's outgoing links: to the master, or to all other members while there is none.

    to the master    this member follows the member that the lease names. It reconnects until it is
                     accepted, and disconnects as soon as the lease names another member or the
                     master's epoch is old
    to the others    without a master this member connects to each other member every
                     ENQUIRY_SECONDS, stores its report, and closes the link

If the master's log does not continue this member's log, the latter is truncated where the two
diverge, or copied again as a whole; both take a restart. A part of the log that may be damaged is
received again and compared. An in-sync member does not copy its log again: it is first removed from
the set, because a member that is elected has to have everything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import DiskError
from gantrymq.ha.election.actions import Action, Connect, Disconnect, Restart, WriteLogLine
from gantrymq.ha.election.election import FRESH_SECONDS, UNCLEAN_SECONDS
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.election.verdict import ReceivedReport
from gantrymq.ha.lease.lease import NO_MEMBER
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.links.member_events import (
    HeartbeatReceived,
    Refused,
    TableReceived,
    Welcomed,
)
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.events import Copied, Ended
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.ha.protocol.member_frames import Heartbeat
from gantrymq.ha.roles import Roles
from gantrymq.store.engine import Store

REDIAL_SECONDS: Final = 0.3
ENQUIRY_SECONDS: Final = 0.25

# Refusals that last until an operator removes their cause: this member logs them too.
LOGGED_REASONS: Final = frozenset({"other-group", "seat-taken", "unknown-member"})


@final
class _Connection:
    """A connection that this member opened, and its link once it is established."""

    __slots__ = ("address", "is_welcome", "link", "member")

    def __init__(self, member: int, address: str) -> None:
        self.address = address
        self.link: OutgoingLink | None = None
        """Set once the connection is established."""
        self.is_welcome = False
        self.member = member


@final
class OutgoingLinks:
    """The outgoing links of a member; the member owns them. They have odd numbers, incoming links
    even ones."""

    __slots__ = (
        "_actions",
        "_addresses",
        "_elector",
        "_goal",
        "_last_number",
        "_last_text",
        "_links",
        "_master",
        "_member_report",
        "_next",
        "_nonce",
        "_promised",
        "_replica_state",
        "_roles",
        "_settings",
        "_store",
        "_stored",
        "_unconfirmed_tables",
        "is_foreign",
        "received_reports",
        "refusal",
        "wall_ms",
    )

    def __init__(
        self,
        settings: LinkSettings,
        addresses: Mapping[int, str],
        nonce: Callable[[], bytes],
        replica_state: ReplicaState,
        member_report: Callable[[], MemberReport],
        elector: LeaderElector,
        store: Store,
        roles: Roles,
    ) -> None:
        """`addresses`: the HA addresses of all members."""
        self._actions: list[Action] = []
        self._addresses = addresses
        self._elector = elector
        self._replica_state = replica_state
        self._goal: int | None = None
        """The end of the master's log in its first heartbeat on this link: once this member's log
        reaches it, it has what was acknowledged without it."""
        self._last_number = -1
        self._links: dict[int, _Connection] = {}
        self._master = NO_MEMBER
        self._next: dict[int, float] = {}
        """When each member may be dialed again."""
        self._nonce = nonce
        self._promised = 0
        self._roles = roles
        self._last_text = ""
        self._settings = settings
        self._store = store
        self._member_report = member_report
        self._stored = 0
        self._unconfirmed_tables: deque[tuple[int, str]] = deque()
        """Received tables that are not known to be on this member's disk."""
        self.wall_ms = 0
        self.refusal = ""
        """Why the master refuses this member, if only an operator can remove the cause."""
        self.is_foreign = False
        """Whether this disk belongs to another group: then this member opens no links."""
        self.received_reports: dict[int, ReceivedReport] = {}

    # ------------------------------------------------------------------ state

    @property
    def follows_master(self) -> bool:
        """Whether the master that the lease names has accepted this member."""
        return any(each.is_welcome for each in self._links.values())

    @property
    def followed(self) -> str:
        """The HA address of that master; "" while there is none."""
        return next((each.address for each in self._links.values() if each.is_welcome), "")

    @property
    def behind_bytes(self) -> int:
        """How much is missing of the log that the master had when this link began."""
        return 0 if self._goal is None else max(0, self._goal - self._store.log.end)

    def record_report(self, member: int, member_report: MemberReport, now: float) -> None:
        """Record the report of another member, whichever side opened the link."""
        known = self.received_reports.get(member)
        if known is None or not self._counts(known, member, member_report, now):
            self.received_reports[member] = ReceivedReport(member_report, now)

    def _counts(self, known: ReceivedReport, member: int, other: MemberReport, now: float) -> bool:
        """Whether the known report of a member counts rather than a new one from another disk. If
        two processes use one number, the disk that the lease names counts. Without a lease the disk
        that knows the group counts: the other one could create a group that has none of the
        messages."""
        disk, lease = known.member_report.disk, self._elector.lease
        if disk == other.disk:
            return False
        if lease is not None:
            return now < known.at + FRESH_SECONDS and lease.disks.get(member, "") == disk != ""
        is_known_alone = known.member_report.group != "" and other.group == ""
        return is_known_alone and now < known.at + UNCLEAN_SECONDS

    def take_actions(self) -> Sequence[Action]:
        actions, self._actions = self._actions, []
        return actions

    # ------------------------------------------------------------------ connecting

    def turn(self, now: float) -> None:
        """Open the links that are wanted, send reports, and close silent links."""
        elector = self._elector
        self._set_master(NO_MEMBER if elector.epoch or self.is_foreign else elector.master, now)
        wanted = self._wanted(now)
        if not wanted and not self._links:
            return
        for number, connection in list(self._links.items()):
            if connection.member not in wanted:
                self._disconnect(number, "the link is no longer needed")
        dialed = {connection.member for connection in self._links.values()}
        for member in sorted(wanted - dialed):
            if now >= self._next.get(member, now):
                self._dial(member, now)
        for number, connection in list(self._links.items()):
            self._serve(number, connection, now)

    def deadline(self, now: float) -> float:
        """When `turn` has something to do, if no event occurs before."""
        due = NEVER
        missing = self._wanted(now)
        for connection in self._links.values():
            missing -= {connection.member}
            if connection.link is not None:
                due = min(due, connection.link.deadline())
        for member in missing:
            due = min(due, self._next.get(member, -NEVER))
        return due

    def _wanted(self, now: float) -> frozenset[int]:
        """The members to be connected to."""
        elector = self._elector
        if elector.epoch or self.is_foreign or elector.phase is Phase.RELEASED:
            return frozenset()
        followed = frozenset(each.member for each in self._links.values() if each.is_welcome)
        if followed or elector.is_leaving:
            return followed
        if self._master != NO_MEMBER and elector.trusts_master(now):
            return frozenset({self._master})
        return frozenset(self._addresses) - {self._settings.me.number}

    def _set_master(self, master: int, now: float) -> None:
        """Record a change of the master; NO_MEMBER if there is none."""
        if master == self._master:
            return
        for number, connection in list(self._links.items()):
            if connection.is_welcome or connection.member == master:
                self._disconnect(number, "the lease names another master")
        self._master = master
        self.refusal = ""
        self._next[master] = now
        if master not in self._addresses and master != NO_MEMBER:
            text = f"groupMembers does not name the master member={master}: add this member to it"
            self._actions.append(WriteLogLine(text, is_warning=True))
        lease = self._elector.lease
        address = lease.address if lease and master else ""
        self._roles.master_is(address, now, self.wall_ms)

    def _dial(self, member: int, now: float) -> None:
        lease = self._elector.lease
        address = self._addresses.get(member, "")
        if member == self._master and lease is not None and lease.ha_address:
            address = lease.ha_address
        is_master = member == self._master
        self._next[member] = now + (REDIAL_SECONDS if is_master else ENQUIRY_SECONDS)
        if not address:
            return  # groupMembers does not name this master, and its lease has no address
        self._last_number += 2
        self._links[self._last_number] = _Connection(member, address)
        self._actions.append(Connect(self._last_number, address))

    def _disconnect(self, number: int, reason: str) -> None:
        if self._remove(number):
            self._actions.append(Disconnect(number, reason))

    def _remove(self, number: int) -> bool:
        """Whether the number was that of an outgoing link."""
        connection = self._links.pop(number, None)
        if connection is None:
            return False
        if connection.link is not None:
            connection.link.closed()
        if connection.is_welcome:
            self._forget_link()
        return True

    def _forget_link(self) -> None:
        """Discard the state of the master's link: it does not apply to another link."""
        self._goal = None
        self._promised = self._stored = 0
        self._unconfirmed_tables.clear()

    def _serve(self, number: int, connection: _Connection, now: float) -> None:
        outgoing = connection.link
        if outgoing is None:
            return
        if connection.is_welcome:
            self._note_stored()
            end = self._replica_state.sure_end
            outgoing.report(
                end,
                min(end, self._store.flushed),
                self._promised,
                self._stored,
                now,
                is_leaving=self._elector.is_leaving,
                is_refusing=self._store.trouble(now) is not None,
            )
        if outgoing.deadline() <= now:
            self._process(number, connection, outgoing.expire(now), now)

    def _note_stored(self) -> None:
        """Advance the number up to which all tables are on this member's disk."""
        unstored = self._roles.unstored_tables
        while self._unconfirmed_tables and self._unconfirmed_tables[0][1] not in unstored:
            self._stored, _ = self._unconfirmed_tables.popleft()

    # ------------------------------------------------------------------ network events

    def connected(self, number: int, now: float) -> None:
        connection = self._links.get(number)
        if connection is not None:
            settings, member_report = self._settings, self._member_report()
            connection.link = OutgoingLink(
                settings.me, settings.secret, self._nonce(), member_report, now
            )

    def received(self, number: int, data: bytes, now: float) -> None:
        connection = self._links.get(number)
        if connection is not None and connection.link is not None:
            self._process(number, connection, connection.link.receive(data, now), now)

    def closed(self, number: int, now: float) -> None:
        """The connection was closed or could not be established."""
        if self._remove(number):
            self._elector.look(now)

    @property
    def numbers(self) -> Sequence[int]:
        return list(self._links)

    def close_all(self, reason: str) -> None:
        """Close all outgoing links."""
        for number in list(self._links):
            self._disconnect(number, reason)
        self._master = NO_MEMBER

    def take_output(self, number: int) -> Sequence[bytes]:
        connection = self._links.get(number)
        return connection.link.take_output() if connection and connection.link else ()

    # ------------------------------------------------------------------ received frames

    def _process(
        self, number: int, connection: _Connection, events: Sequence[object], now: float
    ) -> None:
        for event in events:
            if number not in self._links:
                return
            match event:
                case Copied(position, data):
                    self._copy(number, position, data, now)
                case HeartbeatReceived(heartbeat):
                    self._take_heartbeat(number, heartbeat, now)
                case TableReceived(table, name, content):
                    self._roles.take_table(name, content, now, self.wall_ms)
                    self._unconfirmed_tables.append((table, name))
                case Welcomed():
                    self._welcomed(number, connection, event, now)
                case Refused(member, reason, text, member_report):
                    self.record_report(member.number, member_report, now)
                    if reason in LOGGED_REASONS:
                        if connection.member == self._master:
                            self.refusal = text
                        self._say(text)
                    self._disconnect(number, "received the peer's report")
                case Ended(_, text):
                    self._disconnect(number, text)
                    self._elector.look(now)

    def _say(self, text: str) -> None:
        """Log a line, unless it repeats the previous one."""
        if text != self._last_text:
            self._last_text = text
            self._actions.append(WriteLogLine(text, is_warning=True))

    def _welcomed(
        self, number: int, connection: _Connection, welcomed: Welcomed, now: float
    ) -> None:
        """Follow the master that accepted this member. That needs no readable lease, unless this
        member knows a newer epoch: the master's own clock limits what it may still acknowledge."""
        if welcomed.member_report.epoch < max(self._replica_state.epoch, self._elector.lease_epoch):
            self._elector.look(now)
            self._disconnect(
                number,
                f"this master has epoch {welcomed.member_report.epoch}, and there is a newer epoch",
            )
            return
        group, theirs = self._replica_state.identity.group, welcomed.member_report.group
        if group and theirs and group != theirs:
            self._disconnect(
                number, f"this master belongs to the group {theirs}, and this disk to {group}"
            )
            return
        self._replica_state.see(welcomed.member_report.epoch)
        self._last_text = ""
        if self.follows_master:
            self._disconnect(number, "another master has accepted this member")
            return
        if welcomed.begins is not None:
            self._replica_state.adopt(welcomed.member_report.epochs)
            self._store.begin_copy()
            connection.is_welcome = True
            self.refusal = ""
            if welcomed.member_report.epoch > self._elector.lease_epoch:
                self._elector.look(now)  # the lease says where this master accepts requests
            return
        self._resolve_divergence(welcomed.divergence, welcomed.member_report, now)
        self._disconnect(number, "the logs diverge")

    def _resolve_divergence(self, divergence: int | None, master: MemberReport, now: float) -> None:
        """Remove what the master's log does not have, if that is allowed."""
        log = self._store.log
        if divergence is not None and divergence > log.start and divergence >= master.start:
            self._cut(divergence)
            return
        lease = self._elector.lease
        is_old = lease is None or lease.epoch < master.epoch
        if is_old or lease is None or self._settings.me.number in lease.in_sync:
            self._next[self._master] = now + 2 * REDIAL_SECONDS
            self._elector.look(now)
            text = "the log is copied again once this member has left the in-sync set"
            self._actions.append(WriteLogLine(text, is_warning=True))
            return
        self._replica_state.copy_again(divergence or 0)
        self._actions.append(
            Restart(
                f"copying the whole log again: this log ends at {log.end}, and the master's log,"
                f" which begins at {master.start}, does not continue there"
            )
        )

    def _cut(self, position: int) -> None:
        self._replica_state.cut(position)
        text = f"truncating log to={position}: the master's log differs from there on"
        self._actions.append(Restart(text))

    def _copy(self, number: int, position: int, data: bytes, now: float) -> None:
        log = self._store.log
        while data and position < log.end:
            file_end = log.segments.start_of(position) + log.segments.file_bytes
            known = min(log.end, file_end, position + len(data)) - position
            if not self._compare(number, position, data[:known]):
                return
            position, data = position + known, data[known:]
        if data:
            self._append(number, position, data, now)

    def _compare(self, number: int, position: int, theirs: bytes) -> bool:
        """Whether the doubtful part of this log equals the master's bytes."""
        try:
            ours = self._store.log.segments.read(position, len(theirs))
        except DiskError as error:
            self._disconnect(number, f"this member's log cannot be read: {error}")
            return False
        if ours == theirs:
            self._replica_state.compared(position + len(theirs))
            return True
        self._cut(position + _common(ours, theirs))
        self._disconnect(
            number, "this log is damaged in the part that was not known to be on the disk"
        )
        return False

    def _append(self, number: int, position: int, data: bytes, now: float) -> None:
        refused = self._store.append_copy(position, data, now)
        if refused is not None:
            self._disconnect(number, refused.text)
            self._next[self._master] = now + 1.0

    def _take_heartbeat(self, number: int, heartbeat: Heartbeat, now: float) -> None:
        if heartbeat.epoch < self._replica_state.epoch:
            self._disconnect(
                number,
                f"this master has epoch {heartbeat.epoch}, and this member has seen a newer epoch",
            )
            return
        store, end = self._store, self._replica_state.sure_end
        store.safe = max(store.safe or 0, min(heartbeat.safe, end))
        if self._goal is None:
            self._goal = heartbeat.end
        if self._goal <= end == store.log.end:  # counted by the master from here on
            self._replica_state.caught_up()
        if heartbeat.asked > self._promised and self._elector.promise(heartbeat.epoch, now):
            self._promised = heartbeat.asked


def _common(one: bytes, other: bytes) -> int:
    """The number of leading bytes that are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(one), len(other)))
