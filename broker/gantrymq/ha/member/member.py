"""Combines lease, links, log and role of one member of a group that elects its master.

    turn(now, wall_ms)                 once after each turn of the broker's core, and at `deadline`
    opened, connected, received ...    network events
    lease_answered, published          answers of the lease store
    take_actions, take_output          what the I/O layer has to do
    lease_deadline                     acknowledgements leave before it, or not at all

Invariants. A new epoch is recorded on disk before anything is done in it. Nothing is appended once
a higher epoch was seen than the one in which this member appends. Roles change only here, within
one call: at no time do two parts of the broker assume different roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Disk
from gantrymq.ha.election.actions import Action, Disconnect, Publish, WriteLogLine
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import Lease, LeaseAnswer
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.ha.member.links.member_events import Identified, NewerEpoch
from gantrymq.ha.member.links.outgoing_links import OutgoingLinks
from gantrymq.ha.member.member_context import MemberContext
from gantrymq.ha.member.member_settings import MemberSettings
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.events import Ended
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.ha.roles import Roles
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# How long a hand-over waits for the successor to store the tables as they were when serving
# stopped.
TABLES_SECONDS: Final = 0.4

# The interval between two questions for a promise.
ASK_SECONDS: Final = 0.5

# The interval between attempts to publish this master's address.
PUBLISH_SECONDS: Final = 0.5


@final
class Member:
    """The core of one member, owned by its host. It is created when the store is open as a copy,
    and follows until it becomes master."""

    __slots__ = (
        "_actions",
        "_ask_at",
        "_asked",
        "_incoming",
        "_incoming_by_number",
        "_last_incoming",
        "_led",
        "_noted",
        "_outgoing",
        "_publish_at",
        "_replica_state",
        "_roles",
        "_settings",
        "context",
        "elector",
    )

    def __init__(
        self,
        settings: MemberSettings,
        disk: Disk,
        store: Store,
        roles: Roles,
        nonce: Callable[[], bytes],
        boot: str,
        now: float,
    ) -> None:
        """`boot` differs after each start of the machine."""
        link = settings.link
        self._actions: list[Action] = []
        self._ask_at = NEVER
        self._asked = 0
        self._replica_state = ReplicaState(disk, store, boot)
        process = nonce().hex()
        self._replica_state.identify(process)  # a new disk gets this unique value as its UUID
        self._incoming_by_number: dict[int, IncomingLink] = {}
        self._last_incoming = 0
        self._led = 0
        self._noted: Lease | None = None
        """The Lease that `_note` saw last, to skip work: a follower calls it in each turn."""
        self._publish_at = NEVER
        self._roles = roles
        self._settings = settings
        known = self._replica_state
        self.elector = elector = LeaderElector(
            settings.member_id(process), now, is_new=known.is_new, last_lease=known.lease
        )
        addresses, report = settings.ha_addresses, self.member_report
        self._outgoing = outgoing = OutgoingLinks(
            link, addresses, nonce, known, report, elector, store, roles
        )
        self._incoming = incoming = IncomingLinks(store, link, report, nonce)
        self.context = MemberContext(
            link.me.number, elector, store, known, roles, incoming, outgoing, nonce
        )
        store.safe = store.log.start  # until a master reports the safe position

    # ------------------------------------------------------------------ state

    def lease_deadline(self, now: float) -> float:
        """Acknowledgements leave before this monotonic time, or not at all."""
        return self.elector.lease_deadline(self.context, now)

    @property
    def is_released(self) -> bool:
        """Whether this process may end: it has released the lease, and can redirect clients to the
        new master, if one is expected."""
        return self.elector.phase is Phase.RELEASED and self.elector.has_successor

    @property
    def epoch(self) -> int:
        """The epoch of which this member is master; 0 while it is not."""
        return self._led

    @property
    def seen_epoch(self) -> int:
        """The highest epoch known in this group; 0 until the disk is known to belong to the group:
        a name server that heard a higher epoch would accept no other broker in this one's place."""
        lease = self.elector.lease
        is_known = lease is not None and lease.untrusted_reason is None and not self.is_foreign
        return self._replica_state.epoch if self._led or is_known else 0

    @property
    def has_lost_role(self) -> bool:
        """Whether `turn` has to run before anything is appended: this member is no longer master,
        and the broker does not know yet."""
        return self._led not in (0, self.elector.epoch)

    def leave(self, now: float) -> None:
        """Prepare the end of the process: hand over, then become released."""
        self.elector.leave(now)

    def take_actions(self) -> Sequence[Action]:
        """The actions to carry out now, in order."""
        actions = [*self._actions, *self._outgoing.take_actions(), *self.elector.take_actions()]
        self._actions.clear()
        return actions

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float, wall_ms: int) -> None:
        """Do everything that is due; called after the store's turn."""
        self._outgoing.wall_ms = wall_ms
        self._outgoing.is_foreign = self.is_foreign
        self.elector.decide(self.context, now)
        self._apply_role(now, wall_ms)
        if self._has_paused(now, wall_ms):
            self.elector.decide(self.context, now)  # a member may have become a possible successor
            self._apply_role(now, wall_ms)
        self._outgoing.turn(now)
        if self._led:
            self._continue_leading(now)
        for incoming, ended in self._incoming.turn(now):
            self._end(incoming, ended)
        if now >= self._publish_at and self._led:
            self._publish_at = now + PUBLISH_SECONDS
            self._actions.append(Publish(self._led))

    def deadline(self, now: float) -> float:
        """When `turn` has something to do, if no event occurs before."""
        return min(
            self.elector.deadline(self.context, now),
            self._outgoing.deadline(now),
            self._incoming.deadline(),
            self._ask_at,
            self._publish_at,
            self.context.successors.deadline(now),
        )

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do at once."""
        return self._incoming.is_due

    def _apply_role(self, now: float, wall_ms: int) -> None:
        """Give the broker the role that the leader elector has decided on."""
        elector = self.elector
        if self._led and elector.epoch != self._led:
            self._step_down(now, wall_ms)
        if elector.epoch and not self._led:
            self._step_up(elector.epoch, now, wall_ms)
        if not elector.epoch:
            self._note(elector.lease)

    def _note(self, lease: Lease | None) -> None:
        """Record a Lease on the disk before acting on it. The Lease of another group, and one that
        is not trusted, is ignored."""
        if lease is None or lease is self._noted:
            return
        self._noted = lease
        if lease.untrusted_reason is not None or self.is_foreign:
            return
        self._replica_state.see(lease.epoch)
        self._replica_state.join(lease.group)
        self._replica_state.note_lease(lease)

    def _has_paused(self, now: float, wall_ms: int) -> bool:
        """Stop or resume accepting requests as a hand-over begins or is given up; returns whether
        serving has just stopped. Then the tables are sent to the successor a last time."""
        is_paused = self.elector.phase is Phase.HANDING_OVER
        if not self._led or is_paused == self.context.successors.is_paused:
            return False
        self.context.successors.is_paused = is_paused
        self._roles.pause(now, wall_ms, is_paused=is_paused)
        if is_paused:
            self.context.successors.wait_for_tables(self.spread(now), now + TABLES_SECONDS)
        return is_paused

    def _step_up(self, epoch: int, now: float, wall_ms: int) -> None:
        """Become master: from the first record of this epoch on, the other members follow."""
        elector = self.elector
        assert elector.lease is not None
        self._outgoing.close_all("this member is master")
        self._replica_state.begin(epoch)
        link, lease = self._settings.link, elector.lease
        elector.in_sync = in_sync = InSyncReplicas(
            link.me.number, lease.in_sync, now, flushes=link.flushes, disks=lease.disks
        )
        self._led, self.context.successors.is_paused = epoch, False
        self._asked, self._ask_at = 0, NEVER
        self._publish_at = now
        # First the in-sync set, then the role: the broker may write held-back messages at once.
        self._incoming.lead(epoch, in_sync, now)
        self._roles.lead(epoch, now, wall_ms)

    def _step_down(self, now: float, wall_ms: int) -> None:
        """Stop being master: nothing is appended or acknowledged from here on."""
        self._led, self.context.successors.is_paused = 0, False
        self.elector.in_sync = None
        self._ask_at = self._publish_at = NEVER
        self._incoming.retire(now)
        self._roles.follow(now, wall_ms)
        self._roles.master_is("", now, wall_ms)

    def _continue_leading(self, now: float) -> None:
        """Ask for promises while the lease cannot be renewed; send tables that have changed."""
        lease, in_sync = self.elector.lease, self.elector.in_sync
        if lease is not None and in_sync is not None:
            in_sync.fenced = lease.fenced
        if not self.elector.asks_promises(now):
            self._ask_at = NEVER
        elif self._ask_at == NEVER or now >= self._ask_at:
            self._asked += 1
            self._incoming.ask_promise(self._asked, now)
            self._ask_at = now + ASK_SECONDS
        if now >= self._incoming.tables_at:
            self._incoming.tables(self._roles.tables(), now)

    # ------------------------------------------------------------------ tables

    def spread(self, now: float) -> int:
        """Have all members store the current tables. Returns a number for `lacking`."""
        return self._incoming.tables(self._roles.tables(), now)

    def lacking(self, number: int) -> Sequence[str]:
        """The members that may become master and have not stored the tables of this number."""
        return [f"member {each}" for each in self._incoming.lacking(number)]

    # ------------------------------------------------------------------ metrics and status

    def member_report(self) -> MemberReport:
        """What this member reports about its log."""
        return self.context.member_report()

    @property
    def is_foreign(self) -> bool:
        """Whether an operator has to decide what becomes of this disk."""
        return self.context.is_foreign

    def statuses(self, now: float) -> Sequence[FollowerStatus]:
        """The status of each follower."""
        return self._incoming.statuses(now)

    def conflicts(self, now: float) -> Sequence[str]:
        """The member numbers that two processes claim at the same time; empty unless this is the
        master."""
        return self._incoming.conflicts(now)

    @property
    def refusal(self) -> str:
        """Why the master refuses this member, if only an operator can remove the cause; ""
        otherwise."""
        return self._outgoing.refusal

    @property
    def followed(self) -> str:
        """The HA address of the master that this member follows; "" if there is none."""
        return self._outgoing.followed

    @property
    def behind_bytes(self) -> int:
        """How much is missing of the log that the master had when it accepted this member."""
        return self._outgoing.behind_bytes

    # ------------------------------------------------------------------ the lease store

    def lease_answered(self, number: int, answer: LeaseAnswer, now: float) -> None:
        """Process the answer to a ReadLease or WriteLease; the caller runs a turn next."""
        self.elector.lease_answered(number, answer, now)
        self._note(self.elector.lease)

    def published(self, epoch: int, *, is_done: bool) -> None:
        """Process the result of a Publish."""
        if is_done and epoch == self._led:
            self._publish_at = NEVER

    # ------------------------------------------------------------------ the network

    def opened(self, address: str, now: float) -> int | None:
        """A peer connected to the HA port. Returns the number of the link; None if it has to be
        closed."""
        number = self._last_incoming + 2
        incoming = self._incoming.opened(number, address, now)
        if incoming is None:
            return None
        self._last_incoming = number
        self._incoming_by_number[number] = incoming
        return number

    def connected(self, link: int, now: float) -> None:
        """An outgoing link is connected."""
        self._outgoing.connected(link, now)

    def received(self, link: int, data: bytes, now: float) -> None:
        """Process received bytes; the caller runs a turn next."""
        incoming = self._incoming_by_number.get(link)
        if incoming is None:
            self._outgoing.received(link, data, now)
            return
        for event in self._incoming.received(incoming, data, now):
            match event:
                case Identified(member, member_report):
                    lease = self.elector.lease
                    self._outgoing.reports.record(member.number, member_report, lease, now)
                    self._actions += [
                        WriteLogLine(each, is_warning=True)
                        for each in self._incoming.unlogged_conflicts(now)
                    ]
                case NewerEpoch(epoch):
                    self._replica_state.see(epoch)
                    self.elector.saw(epoch, now)
                case Ended():
                    self._end(incoming, event)

    def closed(self, link: int, now: float) -> None:
        """A link was closed, or could not be connected."""
        incoming = self._incoming_by_number.pop(link, None)
        if incoming is not None:
            self._incoming.closed(incoming)
        else:
            self._outgoing.closed(link, now)

    def is_held_up(self, link: int, *, is_held_up: bool) -> None:
        """The network stopped or resumed accepting bytes."""
        incoming = self._incoming_by_number.get(link)
        if incoming is not None:
            incoming.is_held_up = is_held_up

    def take_output(self, link: int) -> Sequence[bytes]:
        """The bytes to send on this link."""
        incoming = self._incoming_by_number.get(link)
        return self._outgoing.take_output(link) if incoming is None else incoming.take_output()

    @property
    def links(self) -> Sequence[int]:
        """All links, including those that are still connecting."""
        return [*self._incoming_by_number, *self._outgoing.numbers]

    def _end(self, incoming: IncomingLink, ended: Ended) -> None:
        if self._incoming_by_number.pop(incoming.number, None) is not None:
            self._incoming.closed(incoming)
            self._actions.append(Disconnect(incoming.number, ended.text))
