"""A master that leaves its lease to another member, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electors import (
    ALONE,
    STEP,
    FakeContext,
    Life,
    by_promises,
    joined,
    leading,
    pair,
    runs_beside_2,
    switch,
)
from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election.leader_elector import HANDOVER_SECONDS, YIELD_SECONDS
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.election.switchover import SWITCH_SECONDS
from gantrymq.ha.lease.lease import (
    LEASE_DEADLINE_SECONDS,
    NO_MEMBER,
    RENEW_SECONDS,
    Lease,
    OperatorRequests,
)


def test_switchover_waits_until_the_chosen_member_has_everything() -> None:
    life = pair()
    switch(life, 2)
    life.run(1.0)
    assert life.is_in(Phase.HANDING_OVER)
    life.context.successors = {2}
    life.run(STEP)
    lease = life.store.lease
    assert lease is not None
    assert (lease.holder, lease.successor, lease.granted) == (NO_MEMBER, 2, 1)
    assert not life.may_acknowledge


def test_switchover_that_takes_too_long_is_given_up_and_logged() -> None:
    life = pair()
    switch(life, 2)
    for _ in range(60):
        joined(life, 2)
        life.run(STEP)
    lease = life.store.lease
    assert lease is not None
    assert life.elector.epoch == 5
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


def test_switchover_request_to_the_current_master_is_done() -> None:
    life = leading()
    switch(life, 1)
    life.run(2.0)
    assert life.store.lease is not None
    assert life.store.lease.granted == 1
    assert life.is_in(Phase.LEADING)


def test_requested_member_outside_isr_is_waited_for() -> None:
    life = pair()
    life.context.successors = {2}
    switch(life, 2)
    runs_beside_2(life, 1.0)
    lease = life.store.lease
    assert lease is not None
    assert lease.successor == 2
    assert lease.in_sync == {1, 2}
    assert lease.leaver == NO_MEMBER


def test_master_with_a_full_disk_hands_over_to_a_member_with_space() -> None:
    life = pair()
    life.context.full, life.context.takers, life.context.successors = "no space is left", {2}, {2}
    life.run(2 * STEP)
    lease = life.store.lease
    assert lease is not None
    assert (lease.holder, lease.successor) == (NO_MEMBER, 2)
    assert not life.may_acknowledge


def test_master_with_a_full_disk_tries_to_hand_over_again() -> None:
    life = pair()
    life.context.full, life.context.takers = "no space is left", {2}
    runs_beside_2(life, HANDOVER_SECONDS / 2)
    assert life.is_in(Phase.HANDING_OVER)
    runs_beside_2(life, HANDOVER_SECONDS)
    life.context.successors = {2}
    runs_beside_2(life, 1.0)
    assert life.is_in(Phase.LEADING)
    runs_beside_2(life, YIELD_SECONDS)
    assert life.store.lease is not None
    assert life.store.lease.successor == 2


def test_master_that_continues_by_promises_does_not_hand_over() -> None:
    life = pair()
    life.store.is_gone = True
    for _ in range(int(6.0 / STEP)):
        life.context.promised = life.now
        runs_beside_2(life, STEP)
    life.context.full, life.context.takers, life.context.successors = "no space is left", {2}, {2}
    for _ in range(int(2.0 / STEP)):
        life.context.promised = life.now
        runs_beside_2(life, STEP)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge


@pytest.mark.parametrize(("takers", "stays_master"), [(set(), True), ({2}, False)])
def test_promises_do_not_keep_a_master_with_a_stalled_disk_if_another_member_accepts_messages(
    takers: set[int], *, stays_master: bool
) -> None:
    life = pair()
    life.context.stuck, life.context.takers = "a sync takes long", takers
    for _ in range(int((LEASE_DEADLINE_SECONDS + 2.0) / STEP)):
        life.context.promised = life.now
        runs_beside_2(life, STEP)
    assert life.may_acknowledge is stays_master


def test_a_switchover_ends_in_its_time_where_the_lease_store_is_gone_meanwhile() -> None:
    life = pair()
    assert life.store.lease is not None
    life.store.edit(
        replace(life.store.lease, operator_requests=OperatorRequests(switch_to=2, number=1))
    )
    while not life.is_in(Phase.HANDING_OVER):
        runs_beside_2(life, STEP)
    life.store.is_gone = True
    for _ in range(int(10.0 / STEP)):
        life.context.promised = life.now
        runs_beside_2(life, STEP)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge


def test_a_full_disk_at_the_end_of_an_outage_is_handed_over_in_order() -> None:
    life = pair()
    life.context.full, life.context.takers = "no space is left", {2}
    life.store.is_gone = True
    by_promises(life, 6.0)
    epoch = life.elector.epoch
    life.store.is_gone = False
    life.context.successors = {2}
    while life.elector.epoch:
        by_promises(life, STEP)
        assert life.now < 60.0
    life.run(STEP)
    assert life.store.lease is not None
    assert (life.store.lease.epoch, life.store.lease.successor) == (epoch, 2)


# The lease is read again by then.
LOOKED_SECONDS = 5.0

FENCED = Lease(fenced=frozenset({1}))
WANTED = Lease(operator_requests=OperatorRequests(switch_to=2, number=1))


def is_moved(life: Life, cause: str | Lease) -> None:
    """The master's disk is full, or the lease says so, in which an operator wrote."""
    if isinstance(cause, str):
        life.context.full, life.context.takers = cause, {2}
        return
    assert life.store.lease is not None
    life.store.edit(
        replace(life.store.lease, fenced=cause.fenced, operator_requests=cause.operator_requests)
    )


def until_handing_over(life: Life) -> None:
    for _ in range(int(LOOKED_SECONDS / STEP)):
        if life.is_in(Phase.HANDING_OVER):
            return
        by_promises(life, STEP)
    pytest.fail("nothing is handed over")


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
@pytest.mark.parametrize("begins", ["before", "while handing over"])
def test_no_role_moves_while_the_lease_is_only_read(begins: str, cause: str | Lease) -> None:
    life = pair()
    epoch = life.elector.epoch
    if begins == "before":
        life.store.is_read_only = True
        by_promises(life, 3.0)
    is_moved(life, cause)
    if begins != "before":
        until_handing_over(life)
    life.store.is_read_only = True
    by_promises(life, 2 * HANDOVER_SECONDS)  # before, that it was renewed a moment ago says nothing
    life.context.successors = {2}
    for _ in range(int(20.0 / STEP)):
        by_promises(life, STEP)
        assert life.elector.epoch == epoch > 0
    assert life.is_in(Phase.LEADING)


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
def test_hand_over_does_not_end_after_a_failed_renewal(cause: str | Lease) -> None:
    life = pair()
    epoch = life.elector.epoch
    written = len(life.store.writes)
    while len(life.store.writes) == written:
        by_promises(life, STEP)
    by_promises(life, RENEW_SECONDS * 0.6)
    is_moved(life, cause)
    until_handing_over(life)
    life.store.is_read_only = True
    by_promises(life, HANDOVER_SECONDS * 0.7)
    assert life.is_in(Phase.HANDING_OVER)
    life.context.successors = {2}
    by_promises(life, 5.0)
    assert life.elector.epoch == epoch


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.5, 0.7])
def test_hand_over_does_not_end_after_a_failed_write(seconds: float, delay: float) -> None:
    life = pair()
    epoch = life.elector.epoch
    life.delay = delay
    by_promises(life, 5.0 + seconds)
    life.store.is_read_only = True
    by_promises(life, RENEW_SECONDS + delay)
    is_moved(life, FENCED)
    life.context.successors = {2}
    by_promises(life, 10.0)
    assert life.elector.epoch == epoch


def test_role_moves_though_the_lease_store_answers_late() -> None:
    life = pair()
    life.delay = 0.65
    by_promises(life, 6.0)
    life.context.successors = {2}
    is_moved(life, FENCED)
    by_promises(life, 10.0)
    assert life.store.lease is not None
    assert life.store.lease.successor == 2


def test_a_fenced_master_goes_on_while_the_lease_store_is_gone_and_hands_over_then() -> None:
    life = pair()
    is_moved(life, FENCED)
    until_handing_over(life)
    life.store.is_gone = True
    by_promises(life, 3.0)
    for _ in range(int(20.0 / STEP)):
        by_promises(life, STEP)
        assert life.is_in(Phase.LEADING)
    life.store.is_gone = False
    life.context.successors = {2}
    by_promises(life, 5.0)
    assert life.store.lease is not None
    assert life.store.lease.successor == 2


def test_leaving_master_hands_over_to_a_member_with_everything() -> None:
    life = pair()
    life.elector.leave(life.now)
    life.context.successors = {2}
    life.run(0.2)
    assert life.is_in(Phase.RELEASED)
    assert life.store.lease is not None
    assert (life.store.lease.holder, life.store.lease.successor) == (NO_MEMBER, 2)
    assert life.store.lease.in_sync == {1, 2}
    assert life.store.lease.leaver == 1


def test_leaving_takes_a_second_at_most_if_no_member_has_everything() -> None:
    life = pair()
    life.elector.leave(life.now)
    life.run(1.5)
    assert life.is_in(Phase.RELEASED)
    assert life.store.lease is not None
    assert life.store.lease.leaver == NO_MEMBER


def test_a_second_process_with_the_masters_number_leaves_without_touching_the_lease() -> None:
    """It has another disk: the lease is that of the process which has the disk that it names."""
    held = replace(ALONE, holder=1, group="ab" * 16, disks={1: "01" * 16})
    life = Life(LeaseStore(held), FakeContext())
    life.run(0.5)
    life.elector.leave(life.now)
    life.run(1.5)
    assert life.is_in(Phase.RELEASED)
    assert life.store.writes == []


def test_a_follower_leaves_without_touching_the_lease() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.run(0.5)
    life.elector.leave(life.now)
    life.run(0.5)
    assert life.is_in(Phase.RELEASED)
    assert not life.store.writes


def test_leaving_follower_stays_until_the_master_removes_it() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.context.is_following = True
    life.run(0.5)
    life.elector.leave(life.now)
    life.run(0.5)
    assert life.is_in(Phase.WATCHING)
    life.context.is_following = False
    life.run(0.1)
    assert life.is_in(Phase.RELEASED)


def test_a_follower_that_leaves_waits_for_its_master_for_a_second_at_most() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.context.is_following = True
    life.run(0.5)
    life.elector.leave(life.now)
    life.run(0.6)
    life.elector.leave(life.now)
    life.run(0.6)
    assert life.is_in(Phase.RELEASED)


def test_a_fenced_master_hands_over() -> None:
    life = pair()
    lease = life.store.lease
    assert lease is not None
    life.context.successors = {2}
    life.store.edit(replace(lease, fenced=frozenset({1})))
    life.run(1.5)
    assert life.store.lease is not None
    assert not life.is_in(Phase.LEADING)
    life.run(10.0)
    assert life.is_in(Phase.WATCHING)
