"""A master that leaves its lease to another member, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electors import (
    ALONE,
    STEP,
    ElectorDriver,
    FakeContext,
    by_promises,
    joined,
    leading,
    pair,
    runs_beside_2,
    switch,
)
from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election.leading.handover import HANDOVER_SECONDS, YIELD_SECONDS
from gantrymq.ha.election.leading.switchover import SWITCH_SECONDS
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import (
    LEASE_DEADLINE_SECONDS,
    NO_MEMBER,
    RENEW_SECONDS,
    Lease,
    OperatorRequests,
)


def test_switchover_waits_until_the_chosen_member_has_everything() -> None:
    driver = pair()
    switch(driver, 2)
    driver.run(1.0)
    assert driver.is_in(Phase.HANDING_OVER)
    driver.context.successors = {2}
    driver.run(STEP)
    lease = driver.store.lease
    assert lease is not None
    assert (lease.holder, lease.successor, lease.granted) == (NO_MEMBER, 2, 1)
    assert not driver.may_acknowledge


def test_switchover_that_takes_too_long_is_given_up_and_logged() -> None:
    driver = pair()
    switch(driver, 2)
    for _ in range(60):
        joined(driver, 2)
        driver.run(STEP)
    lease = driver.store.lease
    assert lease is not None
    assert driver.elector.epoch == 5
    assert lease.granted == 1


def test_a_member_outside_the_set_is_waited_for_a_while() -> None:
    driver = leading()
    switch(driver, 3)
    driver.run(SWITCH_SECONDS - 1.0)
    assert driver.is_in(Phase.LEADING)
    assert driver.store.lease is not None
    assert driver.store.lease.granted == 0
    driver.run(3.0)
    assert driver.store.lease.granted == 1


def test_switchover_request_to_the_current_master_is_done() -> None:
    driver = leading()
    switch(driver, 1)
    driver.run(2.0)
    assert driver.store.lease is not None
    assert driver.store.lease.granted == 1
    assert driver.is_in(Phase.LEADING)


def test_requested_member_outside_isr_is_waited_for() -> None:
    driver = pair()
    driver.context.successors = {2}
    switch(driver, 2)
    runs_beside_2(driver, 1.0)
    lease = driver.store.lease
    assert lease is not None
    assert lease.successor == 2
    assert lease.in_sync == {1, 2}
    assert lease.leaver == NO_MEMBER


def test_master_with_a_full_disk_hands_over_to_a_member_with_space() -> None:
    driver = pair()
    driver.context.full, driver.context.able, driver.context.successors = (
        "no space is left",
        {2},
        {2},
    )
    driver.run(2 * STEP)
    lease = driver.store.lease
    assert lease is not None
    assert (lease.holder, lease.successor) == (NO_MEMBER, 2)
    assert not driver.may_acknowledge


def test_master_with_a_full_disk_tries_to_hand_over_again() -> None:
    driver = pair()
    driver.context.full, driver.context.able = "no space is left", {2}
    runs_beside_2(driver, HANDOVER_SECONDS / 2)
    assert driver.is_in(Phase.HANDING_OVER)
    runs_beside_2(driver, HANDOVER_SECONDS)
    driver.context.successors = {2}
    runs_beside_2(driver, 1.0)
    assert driver.is_in(Phase.LEADING)
    runs_beside_2(driver, YIELD_SECONDS)
    assert driver.store.lease is not None
    assert driver.store.lease.successor == 2


def test_master_that_continues_by_promises_does_not_hand_over() -> None:
    driver = pair()
    driver.store.is_gone = True
    for _ in range(int(6.0 / STEP)):
        driver.context.promised = driver.now
        runs_beside_2(driver, STEP)
    driver.context.full, driver.context.able, driver.context.successors = (
        "no space is left",
        {2},
        {2},
    )
    for _ in range(int(2.0 / STEP)):
        driver.context.promised = driver.now
        runs_beside_2(driver, STEP)
    assert driver.is_in(Phase.LEADING)
    assert driver.may_acknowledge


@pytest.mark.parametrize(("able", "stays_master"), [(set(), True), ({2}, False)])
def test_promises_do_not_keep_a_master_with_a_stalled_disk_if_another_member_accepts_messages(
    able: set[int], *, stays_master: bool
) -> None:
    driver = pair()
    driver.context.stuck, driver.context.able = "a sync takes long", able
    for _ in range(int((LEASE_DEADLINE_SECONDS + 2.0) / STEP)):
        driver.context.promised = driver.now
        runs_beside_2(driver, STEP)
    assert driver.may_acknowledge is stays_master


def test_a_switchover_ends_in_its_time_where_the_lease_store_is_gone_meanwhile() -> None:
    driver = pair()
    assert driver.store.lease is not None
    driver.store.edit(
        replace(driver.store.lease, operator_requests=OperatorRequests(switch_to=2, number=1))
    )
    while not driver.is_in(Phase.HANDING_OVER):
        runs_beside_2(driver, STEP)
    driver.store.is_gone = True
    for _ in range(int(10.0 / STEP)):
        driver.context.promised = driver.now
        runs_beside_2(driver, STEP)
    assert driver.is_in(Phase.LEADING)
    assert driver.may_acknowledge


def test_a_full_disk_at_the_end_of_an_outage_is_handed_over_in_order() -> None:
    driver = pair()
    driver.context.full, driver.context.able = "no space is left", {2}
    driver.store.is_gone = True
    by_promises(driver, 6.0)
    epoch = driver.elector.epoch
    driver.store.is_gone = False
    driver.context.successors = {2}
    while driver.elector.epoch:
        by_promises(driver, STEP)
        assert driver.now < 60.0
    driver.run(STEP)
    assert driver.store.lease is not None
    assert (driver.store.lease.epoch, driver.store.lease.successor) == (epoch, 2)


# The lease is read again by then.
LOOKED_SECONDS = 5.0

FENCED = Lease(fenced=frozenset({1}))
WANTED = Lease(operator_requests=OperatorRequests(switch_to=2, number=1))


def is_moved(driver: ElectorDriver, cause: str | Lease) -> None:
    """The master's disk is full, or the lease says so, in which an operator wrote."""
    if isinstance(cause, str):
        driver.context.full, driver.context.able = cause, {2}
        return
    assert driver.store.lease is not None
    driver.store.edit(
        replace(driver.store.lease, fenced=cause.fenced, operator_requests=cause.operator_requests)
    )


def until_handing_over(driver: ElectorDriver) -> None:
    for _ in range(int(LOOKED_SECONDS / STEP)):
        if driver.is_in(Phase.HANDING_OVER):
            return
        by_promises(driver, STEP)
    pytest.fail("nothing is handed over")


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
@pytest.mark.parametrize("begins", ["before", "while handing over"])
def test_no_role_moves_while_the_lease_is_only_read(begins: str, cause: str | Lease) -> None:
    driver = pair()
    epoch = driver.elector.epoch
    if begins == "before":
        driver.store.is_read_only = True
        by_promises(driver, 3.0)
    is_moved(driver, cause)
    if begins != "before":
        until_handing_over(driver)
    driver.store.is_read_only = True
    by_promises(
        driver, 2 * HANDOVER_SECONDS
    )  # before, that it was renewed a moment ago says nothing
    driver.context.successors = {2}
    for _ in range(int(20.0 / STEP)):
        by_promises(driver, STEP)
        assert driver.elector.epoch == epoch > 0
    assert driver.is_in(Phase.LEADING)


@pytest.mark.parametrize("cause", ["no space is left", FENCED, WANTED])
def test_hand_over_does_not_end_after_a_failed_renewal(cause: str | Lease) -> None:
    driver = pair()
    epoch = driver.elector.epoch
    written = len(driver.store.writes)
    while len(driver.store.writes) == written:
        by_promises(driver, STEP)
    by_promises(driver, RENEW_SECONDS * 0.6)
    is_moved(driver, cause)
    until_handing_over(driver)
    driver.store.is_read_only = True
    by_promises(driver, HANDOVER_SECONDS * 0.7)
    assert driver.is_in(Phase.HANDING_OVER)
    driver.context.successors = {2}
    by_promises(driver, 5.0)
    assert driver.elector.epoch == epoch


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.5, 0.7])
def test_hand_over_does_not_end_after_a_failed_write(seconds: float, delay: float) -> None:
    driver = pair()
    epoch = driver.elector.epoch
    driver.delay = delay
    by_promises(driver, 5.0 + seconds)
    driver.store.is_read_only = True
    by_promises(driver, RENEW_SECONDS + delay)
    is_moved(driver, FENCED)
    driver.context.successors = {2}
    by_promises(driver, 10.0)
    assert driver.elector.epoch == epoch


def test_role_moves_though_the_lease_store_answers_late() -> None:
    driver = pair()
    driver.delay = 0.65
    by_promises(driver, 6.0)
    driver.context.successors = {2}
    is_moved(driver, FENCED)
    by_promises(driver, 10.0)
    assert driver.store.lease is not None
    assert driver.store.lease.successor == 2


def test_a_fenced_master_goes_on_while_the_lease_store_is_gone_and_hands_over_then() -> None:
    driver = pair()
    is_moved(driver, FENCED)
    until_handing_over(driver)
    driver.store.is_gone = True
    by_promises(driver, 3.0)
    for _ in range(int(20.0 / STEP)):
        by_promises(driver, STEP)
        assert driver.is_in(Phase.LEADING)
    driver.store.is_gone = False
    driver.context.successors = {2}
    by_promises(driver, 5.0)
    assert driver.store.lease is not None
    assert driver.store.lease.successor == 2


def test_leaving_master_hands_over_to_a_member_with_everything() -> None:
    driver = pair()
    driver.elector.leave(driver.now)
    driver.context.successors = {2}
    driver.run(0.2)
    assert driver.is_in(Phase.RELEASED)
    assert driver.store.lease is not None
    assert (driver.store.lease.holder, driver.store.lease.successor) == (NO_MEMBER, 2)
    assert driver.store.lease.in_sync == {1, 2}
    assert driver.store.lease.leaver == 1


def test_leaving_takes_a_second_at_most_if_no_member_has_everything() -> None:
    driver = pair()
    driver.elector.leave(driver.now)
    driver.run(1.5)
    assert driver.is_in(Phase.RELEASED)
    assert driver.store.lease is not None
    assert driver.store.lease.leaver == NO_MEMBER


def test_a_second_process_with_the_masters_number_leaves_without_touching_the_lease() -> None:
    """It has another disk: the lease is that of the process which has the disk that it names."""
    held = replace(ALONE, holder=1, group="ab" * 16, disks={1: "01" * 16})
    driver = ElectorDriver(LeaseStore(held), FakeContext())
    driver.run(0.5)
    driver.elector.leave(driver.now)
    driver.run(1.5)
    assert driver.is_in(Phase.RELEASED)
    assert driver.store.writes == []


def test_a_follower_leaves_without_touching_the_lease() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.run(0.5)
    driver.elector.leave(driver.now)
    driver.run(0.5)
    assert driver.is_in(Phase.RELEASED)
    assert not driver.store.writes


def test_leaving_follower_stays_until_the_master_removes_it() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.context.is_following = True
    driver.run(0.5)
    driver.elector.leave(driver.now)
    driver.run(0.5)
    assert driver.is_in(Phase.WATCHING)
    driver.context.is_following = False
    driver.run(0.1)
    assert driver.is_in(Phase.RELEASED)


def test_a_follower_that_leaves_waits_for_its_master_for_a_second_at_most() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.context.is_following = True
    driver.run(0.5)
    driver.elector.leave(driver.now)
    driver.run(0.6)
    driver.elector.leave(driver.now)
    driver.run(0.6)
    assert driver.is_in(Phase.RELEASED)


def test_a_fenced_master_hands_over() -> None:
    driver = pair()
    lease = driver.store.lease
    assert lease is not None
    driver.context.successors = {2}
    driver.store.edit(replace(lease, fenced=frozenset({1})))
    driver.run(1.5)
    assert driver.store.lease is not None
    assert not driver.is_in(Phase.LEADING)
    driver.run(10.0)
    assert driver.is_in(Phase.WATCHING)
