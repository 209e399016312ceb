"""Manages a member's outgoing links: to the master, or to all other members while there is none.

    to the master    this member follows the member that the lease names. It reconnects until it is
                     accepted, and disconnects as soon as the lease names another member or the
                     master's epoch is old
    to the others    without a master this member connects to each other member every
                     ENQUIRY_SECONDS, stores its report, and closes the link

If the master's log does not continue this member's log, the latter is truncated where the two
diverge, or copied again as a whole; both take a restart. An in-sync member does not copy its log
again: it is first removed from the set, because a member that is elected has to have everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.actions import Action, Connect, Disconnect, WriteLogLine
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import NO_MEMBER
from gantrymq.ha.member.links.follower_progress import FollowerProgress
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.links.log_copy import CopyFailure, LogCopy
from gantrymq.ha.member.links.member_events import (
    HeartbeatReceived,
    Refused,
    TableReceived,
    Welcomed,
)
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.member.links.received_reports import ReceivedReports
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
        "_last_number",
        "_last_text",
        "_links",
        "_log_copy",
        "_master",
        "_member_report",
        "_next",
        "_nonce",
        "_progress",
        "_replica_state",
        "_roles",
        "_settings",
        "_store",
        "is_foreign",
        "refusal",
        "reports",
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
        self._last_number = -1
        self._links: dict[int, _Connection] = {}
        self._log_copy = LogCopy(store, replica_state)
        self._progress = FollowerProgress(store, replica_state, roles)
        self._master = NO_MEMBER
        self._next: dict[int, float] = {}
        """When each member may be dialed again."""
        self._nonce = nonce
        self._roles = roles
        self._last_text = ""
        self._settings = settings
        self._store = store
        self._member_report = member_report
        self.wall_ms = 0
        self.refusal = ""
        """Why the master refuses this member, if only an operator can remove the cause."""
        self.is_foreign = False
        """Whether this disk belongs to another group: then this member opens no links."""
        self.reports = ReceivedReports()

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
        return self._progress.behind_bytes

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
            self._progress.clear()
        return True

    def _serve(self, number: int, connection: _Connection, now: float) -> None:
        outgoing = connection.link
        if outgoing is None:
            return
        if connection.is_welcome:
            self._progress.note_stored()
            end = self._replica_state.sure_end
            outgoing.report(
                end,
                min(end, self._store.flushed),
                self._progress.promised,
                self._progress.stored,
                now,
                is_leaving=self._elector.is_leaving,
                is_refusing=self._store.trouble(now) is not None,
            )
        if outgoing.deadline() <= now:
            self._process(number, connection, outgoing.expire(now), now)

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
                    failure = self._log_copy.take(position, data, now)
                    if failure is not None:
                        self._copy_failed(number, failure, now)
                case HeartbeatReceived(heartbeat):
                    self._take_heartbeat(number, heartbeat, now)
                case TableReceived(table, name, content):
                    self._roles.take_table(name, content, now, self.wall_ms)
                    self._progress.received_table(table, name)
                case Welcomed():
                    self._welcomed(number, connection, event, now)
                case Refused(member, reason, text, member_report):
                    self.reports.record(member.number, member_report, self._elector.lease, now)
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
        lease, me = self._elector.lease, self._settings.me.number
        is_removed = lease is not None and lease.epoch >= master.epoch and me not in lease.in_sync
        restart = self._log_copy.resolve(divergence, master, may_copy_again=is_removed)
        if restart is not None:
            self._actions.append(restart)
            return
        self._next[self._master] = now + 2 * REDIAL_SECONDS
        self._elector.look(now)
        text = "the log is copied again once this member has left the in-sync set"
        self._actions.append(WriteLogLine(text, is_warning=True))

    def _copy_failed(self, number: int, failure: CopyFailure, now: float) -> None:
        if failure.restart is not None:
            self._actions.append(failure.restart)
        self._disconnect(number, failure.text)
        if failure.pause_seconds is not None:
            self._next[self._master] = now + failure.pause_seconds

    def _take_heartbeat(self, number: int, heartbeat: Heartbeat, now: float) -> None:
        if heartbeat.epoch < self._replica_state.epoch:
            self._disconnect(
                number,
                f"this master has epoch {heartbeat.epoch}, and this member has seen a newer epoch",
            )
            return
        progress = self._progress
        progress.heard(heartbeat)
        if heartbeat.asked > progress.promised and self._elector.promise(heartbeat.epoch, now):
            progress.promised = heartbeat.asked
