"""Breaks rules of logs: truncation, flushing, what is read and parked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gantrymq.broker.core.reign import Reign
from gantrymq.ha import epoch_file, member_following
from gantrymq.ha.chronicle import Chronicle
from gantrymq.ha.dials import Dials
from gantrymq.ha.epochs import Epochs
from gantrymq.ha.events import Ended
from gantrymq.ha.handshake import Standing
from gantrymq.ha.in_sync import InSync
from gantrymq.ha.member import Member
from gantrymq.ha.member_follower import MemberFollower
from gantrymq.ha.member_followers import MemberFollowers
from gantrymq.ha.member_following import MemberFollowing
from gantrymq.sim.group_mutations.patch import PATCH
from gantrymq.store.engine import Store
from gantrymq.store.segments import Segments

LATER_SECONDS: Final = 1.0
NEVER: Final = float("inf")


def cuts_at_the_wrong_place() -> None:
    def parting(ours: Epochs, our_end: int, theirs: Epochs, their_end: int) -> int | None:
        return min(our_end, their_end)

    PATCH.setattr(member_following, "parting", parting)
    PATCH.setattr("gantrymq.ha.handshake.parting", parting)


def acknowledges_before_the_sync() -> None:
    report = MemberFollowing.report

    def hasty(
        self: MemberFollowing,
        received: int,
        flushed: int,
        promised: int,
        stored: int,
        now: float,
        **states: bool,
    ) -> None:
        report(self, received, received, promised, stored, now, **states)

    PATCH.setattr(MemberFollowing, "report", hasty)


def recovery_takes_what_it_finds_for_flushed() -> None:
    PATCH.setattr(Segments, "rewrite", lambda *_: None)
    PATCH.setattr(Segments, "sync", lambda *_: None)


def consumers_read_to_the_end_of_the_log() -> None:
    PATCH.setattr(Store, "safe", property(lambda self: None, lambda self, value: None))


def old_masters_go_on_writing() -> None:
    """Their own services do."""

    def follow(self: Reign) -> None:
        self._state.store.waiters.dismiss()

    PATCH.setattr(Reign, "follow", follow)


def parked_sends_come_before_the_set() -> None:
    """They are written when it is not known yet who has to have them."""
    lead, turn = MemberFollowers.lead, MemberFollowers.turn

    def careless(self: MemberFollowers, epoch: int, in_sync: InSync, now: float) -> None:
        lead(self, epoch, in_sync, now)
        self._store.waiters.for_members = False

    def later(self: MemberFollowers, now: float) -> Sequence[tuple[MemberFollower, Ended]]:
        if self._reign is not None:
            self._store.waiters.for_members = True
        return turn(self, now)

    PATCH.setattr(MemberFollowers, "lead", careless)
    PATCH.setattr(MemberFollowers, "turn", later)


def doubtful_tails_are_taken_as_they_are() -> None:
    PATCH.setattr(Chronicle, "sure_end", property(lambda self: self._store.log.end))


def epochs_are_written_after_the_first_append() -> None:
    """The file of them is, a second behind it."""
    begin, lead_on, write = Chronicle.begin, Member._lead_on, epoch_file.write
    unwritten: dict[Chronicle, float] = {}

    def careless(self: Chronicle, epoch: int) -> None:
        PATCH.setattr(epoch_file, "write", lambda disk, epochs: None)
        begin(self, epoch)
        PATCH.setattr(epoch_file, "write", write)
        unwritten[self] = NEVER

    def later(self: Member, now: float) -> None:
        lead_on(self, now)
        chronicle = self._chronicle
        if unwritten.get(chronicle) == NEVER and self._store.log.end > chronicle._epochs[-1].start:
            unwritten[chronicle] = now + LATER_SECONDS
        elif now >= unwritten.get(chronicle, NEVER):
            del unwritten[chronicle]
            chronicle._write(chronicle._epochs)

    PATCH.setattr(Chronicle, "begin", careless)
    PATCH.setattr(Member, "_lead_on", later)


def members_of_the_set_copy_anew() -> None:
    """They do not wait until they are out of it."""
    part = Dials._part

    def hasty(self: Dials, parting: int | None, master: Standing, now: float) -> None:
        desk = self._agent._desk
        lease = desk.lease
        assert lease is not None
        others = lease.in_sync - {self._settings.me.number}
        desk.lease = replace(lease, in_sync=others)
        part(self, parting, master, now)
        desk.lease = lease

    PATCH.setattr(Dials, "_part", hasty)
