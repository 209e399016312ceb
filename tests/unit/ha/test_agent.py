"""A member and its lease, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import final

import pytest

from gantrymq.fakes.lease_store import LeaseStore
from gantrymq.ha.actions import ReadLease, WriteLease
from gantrymq.ha.agent import HANDOVER_SECONDS, YIELD_SECONDS, Agent
from gantrymq.ha.election import Sighting
from gantrymq.ha.epochs import Epoch
from gantrymq.ha.handshake import Standing
from gantrymq.ha.in_sync import InSync
from gantrymq.ha.lease import (
    AUTHORITY_SECONDS,
    DURATION_SECONDS,
    NOBODY,
    Lease,
    LeaseAnswer,
    Wishes,
)
from gantrymq.ha.member_frames import Report
from gantrymq.ha.phase import Phase
from gantrymq.ha.place import Place
from gantrymq.ha.switchover import SWITCH_SECONDS

ALL = frozenset({1, 2, 3})
STEP = 0.05
BEHIND = Standing(4, (Epoch(4, 0),), 0, 400, is_electable=True)
ALONE = Lease("1", holder=NOBODY, epoch=4, in_sync=frozenset({1}))


@final
class Around:
    """The rest of the member."""

    def __init__(self, *, end: int = 500) -> None:
        self.end = end
        self.full: str | None = None
        self.heirs: set[int] = set()
        self.is_following = False
        self.others: dict[int, Standing] = {2: BEHIND, 3: BEHIND}
        self.promised: float | None = None
        self.seen_epoch = 4
        self.stuck: str | None = None
        self.takers: set[int] = set()
        self.now = 0.0

    def standing(self) -> Standing:
        return Standing(self.seen_epoch, (Epoch(4, 0),), 0, self.end, is_electable=True)

    def sightings(self) -> Mapping[int, Sighting]:
        return {each: Sighting(said, self.now) for each, said in self.others.items()}

    def stall(self, now: float) -> str | None:
        return self.stuck

    def trouble(self, now: float) -> str | None:
        return self.stuck or self.full

    def others_take(self) -> bool:
        return bool(self.takers)

    def hears_master(self) -> bool:
        return self.is_following

    def promised_since(self) -> float | None:
        return self.promised

    def heir(self, chosen: int, now: float) -> int:
        if chosen:
            return chosen if chosen in self.heirs else NOBODY
        return min(self.heirs, default=NOBODY)


@final
class Life:
    """One agent, turned each STEP."""

    def __init__(self, store: LeaseStore, around: Around, *, is_new: bool = False) -> None:
        self.agent = Agent(Place(1, ALL, "m1:10911", "m1:10912"), 0.0, is_new=is_new)
        self.around = around
        self.delay = 0.0
        self.now = 0.0
        self.store = store
        self._answers: list[tuple[float, int, LeaseAnswer]] = []

    def run(self, seconds: float) -> None:
        until = self.now + seconds - 1e-9
        while self.now < until:
            self.now = round(self.now + STEP, 6)
            self.turn()

    def turn(self) -> None:
        self.around.now = self.now
        due = [each for each in self._answers if each[0] <= self.now]
        self._answers = [each for each in self._answers if each[0] > self.now]
        for _, number, answer in due:
            self.agent.lease_answered(number, answer, self.now)
        for _ in range(4):
            self._decide()

    def _decide(self) -> None:
        agent = self.agent
        agent.decide(self.around, self.now)
        if agent.epoch and agent.in_sync is None and agent.lease is not None:
            agent.in_sync = InSync(1, agent.lease.in_sync, self.now, flushes=False)
        if not agent.epoch:
            agent.in_sync = None
        for action in agent.take_actions():
            if isinstance(action, (ReadLease, WriteLease)):
                answer = self.store.carry_out(action)
                if self.delay:
                    self._answers.append((self.now + self.delay, action.number, answer))
                else:
                    agent.lease_answered(action.number, answer, self.now)

    def is_in(self, phase: Phase) -> bool:
        return self.agent.phase is phase

    @property
    def promisers(self) -> frozenset[int]:
        """Who has to promise."""
        members = self.agent.must_promise()
        assert members is not None
        return members

    @property
    def may_acknowledge(self) -> bool:
        return self.now < self.agent.authority(self.around, self.now)


def leading(lease: Lease = ALONE) -> Life:
    """A master."""
    life = Life(LeaseStore(lease), Around())
    life.run(1.0)
    assert life.is_in(Phase.LEADING)
    return life


def test_a_free_lease_makes_a_master() -> None:
    life = leading()
    assert life.store.lease is not None
    assert (life.store.lease.holder, life.store.lease.epoch) == (1, 5)
    assert life.store.lease.ha_address == "m1:10912"
    assert life.may_acknowledge


def test_a_held_lease_is_waited_for_by_our_own_clock() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.run(DURATION_SECONDS - STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(2 * STEP)
    assert life.is_in(Phase.LEADING)


def test_each_renewal_of_another_master_begins_its_duration_anew() -> None:
    store = LeaseStore(replace(ALONE, holder=2))
    life = Life(store, Around())
    for _ in range(10):
        assert store.lease is not None
        store.edit(replace(store.lease, renewals=store.lease.renewals + 1))
        life.run(1.0)
    assert life.is_in(Phase.WATCHING)


def test_a_master_renews_and_keeps_its_authority() -> None:
    life = leading()
    for _ in range(20):
        life.run(0.5)
        assert life.may_acknowledge
    assert len(life.store.writes) <= 1 + 11.0 / 0.8


def test_authority_counts_from_when_the_renewal_was_sent() -> None:
    life = Life(LeaseStore(ALONE), Around())
    life.delay = 1.2
    life.run(2 * 1.2 + 2 * STEP)
    assert life.is_in(Phase.LEADING)
    authority = life.agent.authority(life.around, life.now)
    assert authority == pytest.approx(life.now - 1.2 + AUTHORITY_SECONDS, abs=2 * STEP)


def test_a_master_whose_lease_store_is_gone_steps_down_before_others_may_take_it() -> None:
    life = leading()
    life.store.is_gone = True
    renewed_at = life.now
    life.run(AUTHORITY_SECONDS + STEP)
    assert life.agent.epoch == 0
    assert not life.may_acknowledge
    assert life.now < renewed_at + DURATION_SECONDS


def test_promises_keep_a_master_going_and_end_with_the_last_one() -> None:
    life = leading(replace(ALONE, in_sync=frozenset({1, 2})))
    life.around.others = {}
    life.store.is_gone = True
    for _ in range(20):
        life.around.promised = life.now
        life.run(0.5)
        assert life.is_in(Phase.LEADING)
    assert life.promisers == {2}
    life.run(AUTHORITY_SECONDS + STEP)
    assert life.is_in(Phase.WATCHING)


def test_who_has_to_promise() -> None:
    alone = leading()
    assert alone.promisers == {2, 3}
    unclean = leading(replace(ALONE, wishes=Wishes(allows_unclean=True)))
    assert unclean.agent.must_promise() is None
    pair = replace(ALONE, in_sync=frozenset({1, 3}), wishes=Wishes(allows_unclean=True))
    life = leading(pair)
    assert life.promisers == {2, 3}


def test_a_promise_is_kept_though_the_lease_has_expired() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.run(3.5)
    assert life.agent.promise(4, life.now)
    life.run(DURATION_SECONDS - STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(2 * STEP)
    assert life.is_in(Phase.LEADING)


def test_who_seeks_or_leads_promises_nothing() -> None:
    life = leading()
    assert not life.agent.promise(9, life.now)
    seeking = Life(LeaseStore(ALONE), Around())
    seeking.delay = 0.5
    seeking.run(0.6)
    assert seeking.is_in(Phase.SEEKING)
    assert not seeking.agent.promise(9, seeking.now)


def test_a_master_of_an_older_epoch_is_promised_nothing() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.run(1.0)
    assert not life.agent.promise(3, life.now)


def test_another_holder_ends_it() -> None:
    life = leading()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, holder=2, epoch=6))
    life.run(1.0)
    assert life.is_in(Phase.WATCHING)
    assert not life.may_acknowledge


def test_an_operators_edit_does_not() -> None:
    life = leading()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, wishes=Wishes(preferred=3)))
    life.run(2.0)
    assert life.is_in(Phase.LEADING)
    assert life.store.lease.wishes.preferred == 3


def test_a_new_group_has_a_master_when_all_were_heard() -> None:
    around = Around()
    around.others = {}
    around.seen_epoch = 0
    life = Life(LeaseStore(), around, is_new=True)
    life.run(2.0)
    assert life.store.lease is not None
    assert not life.is_in(Phase.LEADING)
    new = Standing(0, (), 0, 0, is_electable=True)
    around.others = {2: new, 3: new}
    life.run(0.5)
    assert life.agent.epoch == 1


def test_a_lease_that_was_deleted_and_made_anew_counts_from_then_on() -> None:
    """Somebody may have been master between two looks at nothing."""
    life = Life(LeaseStore(), Around())
    life.run(DURATION_SECONDS - 1.0)
    assert life.store.lease is not None
    life.store.lease = None
    life.run(DURATION_SECONDS - 1.0)
    assert not life.is_in(Phase.LEADING)
    life.run(2.0)
    assert life.is_in(Phase.LEADING)


def test_a_seek_without_an_answer_is_found_out_by_reading() -> None:
    life = Life(LeaseStore(ALONE), Around())
    life.store.is_forgetful = True
    life.run(0.3)
    assert not life.is_in(Phase.LEADING)
    assert not life.may_acknowledge
    life.store.is_forgetful = False
    life.run(0.5)
    assert life.is_in(Phase.LEADING)
    assert life.agent.epoch == 5


# ---------------------------------------------------------------------- the in-sync set


def joined(life: Life, member: int) -> None:
    in_sync = life.agent.in_sync
    assert in_sync is not None
    in_sync.heard(member, Report(500, 500), 500, life.now)


def runs_beside_2(life: Life, seconds: float) -> None:
    """Member 2 has everything all the time."""
    for _ in range(round(seconds / STEP)):
        if life.agent.in_sync is not None:
            joined(life, 2)
        life.run(STEP)


def test_a_member_that_has_caught_up_is_taken_into_the_set() -> None:
    life = leading()
    joined(life, 2)
    life.run(STEP)
    assert life.store.lease is not None
    assert life.store.lease.in_sync == {1, 2}
    assert life.agent.in_sync is not None
    assert life.agent.in_sync.persisted == {1, 2}


def test_a_set_whose_outcome_is_unknown_counts_both_ways_until_another_version_is_seen() -> None:
    life = leading()
    joined(life, 2)
    life.store.is_gone = True
    in_sync = life.agent.in_sync
    assert in_sync is not None
    life.run(1.0)
    assert in_sync.counted == {1, 2}
    assert in_sync.persisted == {1}
    life.store.is_gone = False
    joined(life, 2)
    life.run(0.5)
    assert in_sync.persisted == {1, 2}


def test_a_set_that_was_written_without_an_answer_is_found_out() -> None:
    life = leading()
    joined(life, 2)
    life.store.is_forgetful = True
    life.run(STEP)
    life.store.is_forgetful = False
    life.run(0.5)
    in_sync = life.agent.in_sync
    assert in_sync is not None
    assert in_sync.persisted == in_sync.counted == {1, 2}


def test_a_disk_that_does_not_answer_ends_a_reign_in_time() -> None:
    life = leading()
    life.around.stuck = "a sync takes long"
    life.run(AUTHORITY_SECONDS + 2 * STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(5.0)
    assert life.is_in(Phase.WATCHING)
    life.around.stuck = None
    life.run(1.0)
    assert life.is_in(Phase.LEADING)


def test_a_full_disk_ends_no_reign_where_nobody_else_takes_messages() -> None:
    life = pair()
    epoch = life.agent.epoch
    life.around.full = "no space is left"
    runs_beside_2(life, 10.0)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge
    assert life.agent.epoch == epoch


# ---------------------------------------------------------------------- giving it away


def pair() -> Life:
    """A master whose set has member 2 as well."""
    life = leading()
    joined(life, 2)
    life.run(STEP)
    return life


def switch(life: Life, member: int, number: int = 1) -> None:
    lease = life.store.lease
    assert lease is not None
    life.store.edit(replace(lease, wishes=Wishes(switch_to=member, number=number)))


def test_a_switchover_waits_until_the_chosen_one_has_everything() -> None:
    life = pair()
    switch(life, 2)
    life.run(1.0)
    assert life.is_in(Phase.HANDING_OVER)
    life.around.heirs = {2}
    life.run(STEP)
    lease = life.store.lease
    assert lease is not None
    assert (lease.holder, lease.heir, lease.granted) == (NOBODY, 2, 1)
    assert not life.may_acknowledge


def test_a_switchover_that_takes_too_long_is_given_up_and_said_so() -> None:
    life = pair()
    switch(life, 2)
    for _ in range(60):
        joined(life, 2)
        life.run(STEP)
    lease = life.store.lease
    assert lease is not None
    assert life.agent.epoch == 5
    assert lease.granted == 1


def test_a_member_outside_the_set_is_waited_for_a_while() -> None:
    life = leading()
    switch(life, 3)
    life.run(SWITCH_SECONDS - 1.0)
    assert life.is_in(Phase.LEADING)
    assert life.store.lease is not None
    assert life.store.lease.granted == 0
    life.run(3.0)
    assert life.store.lease.granted == 1


def test_who_is_told_to_be_what_it_is_grants_that() -> None:
    life = leading()
    switch(life, 1)
    life.run(2.0)
    assert life.store.lease is not None
    assert life.store.lease.granted == 1
    assert life.is_in(Phase.LEADING)


def test_who_is_full_hands_over_to_who_is_not() -> None:
    life = pair()
    life.around.full, life.around.takers, life.around.heirs = "no space is left", {2}, {2}
    life.run(2 * STEP)
    lease = life.store.lease
    assert lease is not None
    assert (lease.holder, lease.heir) == (NOBODY, 2)
    assert not life.may_acknowledge


def test_a_full_disk_that_cannot_be_left_to_another_one_now_is_later() -> None:
    life = pair()
    life.around.full, life.around.takers = "no space is left", {2}
    runs_beside_2(life, HANDOVER_SECONDS / 2)
    assert life.is_in(Phase.HANDING_OVER)
    runs_beside_2(life, HANDOVER_SECONDS)
    life.around.heirs = {2}
    runs_beside_2(life, 1.0)
    assert life.is_in(Phase.LEADING)
    runs_beside_2(life, YIELD_SECONDS)
    assert life.store.lease is not None
    assert life.store.lease.heir == 2


def test_a_master_that_goes_on_by_promises_leaves_nothing_to_others() -> None:
    life = pair()
    life.store.is_gone = True
    for _ in range(int(6.0 / STEP)):
        life.around.promised = life.now
        runs_beside_2(life, STEP)
    life.around.full, life.around.takers, life.around.heirs = "no space is left", {2}, {2}
    for _ in range(int(2.0 / STEP)):
        life.around.promised = life.now
        runs_beside_2(life, STEP)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge


@pytest.mark.parametrize(("takers", "goes_on"), [(set(), True), ({2}, False)])
def test_promises_keep_nobody_going_whose_disk_stalls_while_others_take_messages(
    takers: set[int], *, goes_on: bool
) -> None:
    life = pair()
    life.around.stuck, life.around.takers = "a sync takes long", takers
    for _ in range(int((AUTHORITY_SECONDS + 2.0) / STEP)):
        life.around.promised = life.now
        runs_beside_2(life, STEP)
    assert life.may_acknowledge is goes_on


def test_a_switchover_ends_in_its_time_where_the_lease_store_is_gone_meanwhile() -> None:
    life = pair()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, wishes=Wishes(switch_to=2, number=1)))
    while not life.is_in(Phase.HANDING_OVER):
        runs_beside_2(life, STEP)
    life.store.is_gone = True
    for _ in range(int(10.0 / STEP)):
        life.around.promised = life.now
        runs_beside_2(life, STEP)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge


def by_promises(life: Life, seconds: float) -> None:
    for _ in range(int(seconds / STEP)):
        life.around.promised = life.now
        runs_beside_2(life, STEP)


def test_a_full_disk_at_the_end_of_an_outage_is_handed_over_in_order() -> None:
    life = pair()
    life.around.full, life.around.takers = "no space is left", {2}
    life.store.is_gone = True
    by_promises(life, 6.0)
    epoch = life.agent.epoch
    life.store.is_gone = False
    life.around.heirs = {2}
    while life.agent.epoch:
        by_promises(life, STEP)
        assert life.now < 60.0
    life.run(STEP)
    assert life.store.lease is not None
    assert (life.store.lease.epoch, life.store.lease.heir) == (epoch, 2)


FENCED = Lease(fenced=frozenset({1}))
WANTED = Lease(wishes=Wishes(switch_to=2, number=1))


def is_moved(life: Life, cause: str | Lease) -> None:
    """The master's disk is full, or the lease says so, in which an operator wrote."""
    if isinstance(cause, str):
        life.around.full, life.around.takers = cause, {2}
        return
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, fenced=cause.fenced, wishes=cause.wishes))


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
@pytest.mark.parametrize("begins", ["before", "while handing over"])
def test_no_role_moves_while_the_lease_is_only_read(begins: str, cause: str | Lease) -> None:
    life = pair()
    epoch = life.agent.epoch
    if begins == "before":
        life.store.is_read_only = True
        by_promises(life, 3.0)
    is_moved(life, cause)
    while begins != "before" and not life.is_in(Phase.HANDING_OVER):
        by_promises(life, STEP)
    life.store.is_read_only = True
    by_promises(life, 2 * HANDOVER_SECONDS)  # before, that it was renewed a moment ago says nothing
    life.around.heirs = {2}
    for _ in range(int(20.0 / STEP)):
        by_promises(life, STEP)
        assert life.agent.epoch == epoch > 0
    assert life.is_in(Phase.LEADING)


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
def test_no_hand_over_ends_when_the_lease_was_not_written_for_a_while(cause: str | Lease) -> None:
    life = pair()
    epoch = life.agent.epoch
    life.store.is_read_only = True
    while not life.agent.asks_promises(life.now + 0.3):
        by_promises(life, STEP)
    is_moved(life, cause)
    while not life.is_in(Phase.HANDING_OVER):
        by_promises(life, STEP)
    by_promises(life, HANDOVER_SECONDS * 0.7)
    assert life.is_in(Phase.HANDING_OVER)
    life.around.heirs = {2}
    by_promises(life, 5.0)
    assert life.agent.epoch == epoch


def test_a_store_that_answers_late_keeps_no_role_in_its_place() -> None:
    life = pair()
    life.delay = 1.8
    by_promises(life, 6.0)
    life.around.heirs = {2}
    is_moved(life, FENCED)
    by_promises(life, 10.0)
    assert life.store.lease is not None
    assert life.store.lease.heir == 2


def test_a_fenced_master_goes_on_while_the_lease_store_is_gone_and_hands_over_then() -> None:
    life = pair()
    is_moved(life, FENCED)
    while not life.is_in(Phase.HANDING_OVER):
        by_promises(life, STEP)
    life.store.is_gone = True
    by_promises(life, 3.0)
    for _ in range(int(20.0 / STEP)):
        by_promises(life, STEP)
        assert life.is_in(Phase.LEADING)
    life.store.is_gone = False
    life.around.heirs = {2}
    by_promises(life, 5.0)
    assert life.store.lease is not None
    assert life.store.lease.heir == 2


def test_leaving_gives_the_lease_away_to_who_has_everything() -> None:
    life = pair()
    life.agent.leave(life.now)
    life.around.heirs = {2}
    life.run(0.2)
    assert life.is_in(Phase.RELEASED)
    assert life.store.lease is not None
    assert (life.store.lease.holder, life.store.lease.heir) == (NOBODY, 2)


def test_leaving_takes_a_second_at_most_where_nobody_has_everything() -> None:
    life = pair()
    life.agent.leave(life.now)
    life.run(1.5)
    assert life.is_in(Phase.RELEASED)
    assert life.store.lease is not None
    assert not life.is_in(Phase.LEADING)


def test_a_follower_leaves_without_touching_the_lease() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.run(0.5)
    life.agent.leave(life.now)
    life.run(0.5)
    assert life.is_in(Phase.RELEASED)
    assert not life.store.writes


def test_a_follower_that_leaves_stays_until_its_master_lets_it_go() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.around.is_following = True
    life.run(0.5)
    life.agent.leave(life.now)
    life.run(0.5)
    assert life.is_in(Phase.WATCHING)
    life.around.is_following = False
    life.run(0.1)
    assert life.is_in(Phase.RELEASED)


def test_a_follower_that_leaves_waits_for_its_master_for_a_second_at_most() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), Around())
    life.around.is_following = True
    life.run(0.5)
    life.agent.leave(life.now)
    life.run(0.6)
    life.agent.leave(life.now)
    life.run(0.6)
    assert life.is_in(Phase.RELEASED)


def test_a_fenced_master_hands_over() -> None:
    life = pair()
    lease = life.store.lease
    assert lease is not None
    life.around.heirs = {2}
    life.store.edit(replace(lease, fenced=frozenset({1})))
    life.run(1.5)
    assert life.store.lease is not None
    assert not life.is_in(Phase.LEADING)
    life.run(10.0)
    assert life.is_in(Phase.WATCHING)
