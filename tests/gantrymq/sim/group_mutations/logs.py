"""Breaks rules of logs: truncation, flushing, what is read and parked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.replication.role_controller import RoleController
from gantrymq.ha.disk import epoch_file
from gantrymq.ha.disk.epochs import Epochs
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links import outgoing_link
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.member.links.outgoing_links import OutgoingLinks
from gantrymq.ha.member.member import Member
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.events import Ended
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.sim.group_mutations.patch import PATCH
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import Segments

LATER_SECONDS: Final = 1.0


def cuts_at_the_wrong_place() -> None:
    def divergence(ours: Epochs, our_end: int, theirs: Epochs, their_end: int) -> int | None:
        return min(our_end, their_end)

    PATCH.setattr(outgoing_link, "divergence", divergence)
    PATCH.setattr("gantrymq.ha.protocol.handshake.divergence", divergence)


def acknowledges_before_the_sync() -> None:
    report = OutgoingLink.report

    def hasty(
        self: OutgoingLink,
        received: int,
        flushed: int,
        promised: int,
        stored: int,
        now: float,
        **states: bool,
    ) -> None:
        report(self, received, received, promised, stored, now, **states)

    PATCH.setattr(OutgoingLink, "report", hasty)


def recovery_takes_what_it_finds_for_flushed() -> None:
    PATCH.setattr(Segments, "rewrite", lambda *_: None)
    PATCH.setattr(Segments, "sync", lambda *_: None)


def consumers_read_to_the_end_of_the_log() -> None:
    PATCH.setattr(Store, "safe", property(lambda self: None, lambda self, value: None))


def old_masters_go_on_writing() -> None:
    """Their own services do."""

    def follow(self: RoleController) -> None:
        self._state.store.waiters.dismiss()

    PATCH.setattr(RoleController, "follow", follow)


def parked_sends_come_before_the_set() -> None:
    """They are written when it is not known yet which members must have them."""
    lead, turn = IncomingLinks.lead, IncomingLinks.turn

    def careless(self: IncomingLinks, epoch: int, in_sync: InSyncReplicas, now: float) -> None:
        lead(self, epoch, in_sync, now)
        self._store.waiters.for_members = False

    def later(self: IncomingLinks, now: float) -> Sequence[tuple[IncomingLink, Ended]]:
        if self._led is not None:
            self._store.waiters.for_members = True
        return turn(self, now)

    PATCH.setattr(IncomingLinks, "lead", careless)
    PATCH.setattr(IncomingLinks, "turn", later)


def doubtful_tails_are_taken_as_they_are() -> None:
    PATCH.setattr(ReplicaState, "sure_end", property(lambda self: self._store.log.end))


def epochs_are_written_after_the_first_append() -> None:
    """The file of them is, a second behind it."""
    begin, lead_on, write = ReplicaState.begin, Member._continue_leading, epoch_file.write
    unwritten: dict[ReplicaState, float] = {}

    def careless(self: ReplicaState, epoch: int) -> None:
        PATCH.setattr(epoch_file, "write", lambda disk, epochs: None)
        begin(self, epoch)
        PATCH.setattr(epoch_file, "write", write)
        unwritten[self] = NEVER

    def later(self: Member, now: float) -> None:
        lead_on(self, now)
        replica_state = self._replica_state
        if (
            unwritten.get(replica_state) == NEVER
            and replica_state._store.log.end > replica_state._epochs[-1].start
        ):
            unwritten[replica_state] = now + LATER_SECONDS
        elif now >= unwritten.get(replica_state, NEVER):
            del unwritten[replica_state]
            replica_state._write(replica_state._epochs)

    PATCH.setattr(ReplicaState, "begin", careless)
    PATCH.setattr(Member, "_continue_leading", later)


def members_of_the_set_copy_anew() -> None:
    """They do not wait until they are out of it."""
    part = OutgoingLinks._resolve_divergence

    def hasty(
        self: OutgoingLinks, divergence: int | None, master: MemberReport, now: float
    ) -> None:
        lease_state = self._elector._lease_state
        lease = lease_state.lease
        assert lease is not None
        others = lease.in_sync - {self._settings.me.number}
        lease_state.lease = replace(lease, in_sync=others)
        part(self, divergence, master, now)
        lease_state.lease = lease

    PATCH.setattr(OutgoingLinks, "_resolve_divergence", hasty)
