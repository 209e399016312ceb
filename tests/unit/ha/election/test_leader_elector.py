"""A member and its lease, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electors import (
    ALONE,
    BEHIND,
    MEMBER_ID,
    STEP,
    ElectorDriver,
    FakeContext,
    joined,
    leading,
    pair,
    runs_beside_2,
)
from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election.in_sync_replicas import PROGRESS_SECONDS
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import (
    DURATION_SECONDS,
    EPOCH_MAX,
    LEASE_DEADLINE_SECONDS,
    OperatorRequests,
)
from gantrymq.ha.protocol.handshake import MemberReport


def test_a_free_lease_makes_a_master() -> None:
    driver = leading()
    assert driver.store.lease is not None
    assert (driver.store.lease.holder, driver.store.lease.epoch) == (1, 5)
    assert driver.store.lease.ha_address == "m1:10912"
    assert driver.may_acknowledge


def test_member_flushes_its_log_before_it_seeks_the_lease() -> None:
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.context.is_on_disk = False
    driver.run(1.0)
    assert driver.is_in(Phase.WATCHING)
    assert not driver.store.writes
    driver.context.is_on_disk = True
    driver.run(2 * STEP)
    assert driver.is_in(Phase.LEADING)


def test_empty_disk_takes_the_group_that_other_members_know() -> None:
    context = FakeContext()
    context.others[2] = BEHIND._replace(group="ab" * 16)
    driver = ElectorDriver(LeaseStore(ALONE), context)
    driver.run(1.0)
    assert driver.store.lease is not None
    assert driver.store.lease.group == "ab" * 16


def test_an_epoch_that_no_member_could_read_is_not_sought() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, epoch=EPOCH_MAX)), FakeContext())
    driver.context.seen_epoch = EPOCH_MAX
    driver.run(3.0)
    assert driver.is_in(Phase.WATCHING)
    assert not driver.store.writes


def test_a_held_lease_is_waited_for_by_our_own_clock() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.run(DURATION_SECONDS - STEP)
    assert driver.is_in(Phase.WATCHING)
    driver.run(2 * STEP)
    assert driver.is_in(Phase.LEADING)


def test_each_renewal_of_another_master_restarts_its_duration() -> None:
    store = LeaseStore(replace(ALONE, holder=2))
    driver = ElectorDriver(store, FakeContext())
    for _ in range(10):
        assert store.lease is not None
        store.edit(replace(store.lease, renewals=store.lease.renewals + 1))
        driver.run(1.0)
    assert driver.is_in(Phase.WATCHING)


def test_master_that_renews_may_acknowledge() -> None:
    driver = leading()
    for _ in range(20):
        driver.run(0.5)
        assert driver.may_acknowledge
    assert len(driver.store.writes) <= 1 + 11.0 / 0.8


def test_lease_deadline_counts_from_when_the_renewal_was_sent() -> None:
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.delay = 1.2
    driver.run(2 * 1.2 + 2 * STEP)
    assert driver.is_in(Phase.LEADING)
    lease_deadline = driver.elector.lease_deadline(driver.context, driver.now)
    assert lease_deadline == pytest.approx(driver.now - 1.2 + LEASE_DEADLINE_SECONDS, abs=2 * STEP)


def test_a_master_whose_lease_store_is_gone_steps_down_before_others_may_take_it() -> None:
    driver = leading()
    driver.store.is_gone = True
    renewed_at = driver.now
    driver.run(LEASE_DEADLINE_SECONDS + STEP)
    assert driver.elector.epoch == 0
    assert not driver.may_acknowledge
    assert driver.now < renewed_at + DURATION_SECONDS


def test_promises_keep_a_master_going_and_end_with_the_last_one() -> None:
    driver = leading(replace(ALONE, in_sync=frozenset({1, 2})))
    driver.context.others = {}
    driver.store.is_gone = True
    for _ in range(20):
        driver.context.promised = driver.now
        driver.run(0.5)
        assert driver.is_in(Phase.LEADING)
    assert driver.promisers == {2}
    driver.run(LEASE_DEADLINE_SECONDS + STEP)
    assert driver.is_in(Phase.WATCHING)


def test_members_that_must_promise() -> None:
    alone = leading()
    assert alone.promisers == {2, 3}
    unclean = leading(replace(ALONE, operator_requests=OperatorRequests(allows_unclean=True)))
    assert unclean.elector.must_promise() is None
    pair = replace(
        ALONE, in_sync=frozenset({1, 3}), operator_requests=OperatorRequests(allows_unclean=True)
    )
    driver = leading(pair)
    assert driver.promisers == {2, 3}


def test_a_promise_is_kept_though_the_lease_has_expired() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.run(3.5)
    assert driver.elector.promise(4, driver.now)
    driver.run(DURATION_SECONDS - STEP)
    assert driver.is_in(Phase.WATCHING)
    driver.run(2 * STEP)
    assert driver.is_in(Phase.LEADING)


def test_member_that_seeks_or_leads_makes_no_promise() -> None:
    driver = leading()
    assert not driver.elector.promise(9, driver.now)
    seeking = ElectorDriver(LeaseStore(ALONE), FakeContext())
    seeking.delay = 0.5
    seeking.run(0.6)
    assert seeking.is_in(Phase.SEEKING)
    assert not seeking.elector.promise(9, seeking.now)


def test_master_of_an_older_epoch_gets_no_promise() -> None:
    driver = ElectorDriver(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    driver.run(1.0)
    assert not driver.elector.promise(3, driver.now)


def test_master_steps_down_when_the_lease_names_another_holder() -> None:
    driver = leading()
    assert driver.store.lease is not None
    driver.store.edit(replace(driver.store.lease, holder=2, epoch=6))
    driver.run(1.0)
    assert driver.is_in(Phase.WATCHING)
    assert not driver.may_acknowledge


def test_edit_by_an_operator_keeps_the_seal_valid() -> None:
    driver = leading()
    assert driver.store.lease is not None
    driver.store.edit(replace(driver.store.lease, operator_requests=OperatorRequests(preferred=3)))
    driver.run(2.0)
    assert driver.is_in(Phase.LEADING)
    assert driver.store.lease.operator_requests.preferred == 3


def test_new_group_elects_a_master_when_all_members_report() -> None:
    context = FakeContext()
    context.others = {}
    context.seen_epoch = 0
    driver = ElectorDriver(LeaseStore(), context, is_new=True)
    driver.run(2.0)
    assert driver.store.lease is None
    assert not driver.is_in(Phase.LEADING)
    new = MemberReport(0, (), 0, 0, is_electable=True)
    context.others = {2: new, 3: new}
    driver.run(1.0)
    assert driver.elector.epoch == 1


def test_lease_created_again_counts_from_then_on() -> None:
    """Another member may have been master between two reads without a Lease."""
    driver = ElectorDriver(LeaseStore(), FakeContext())
    driver.run(DURATION_SECONDS - 1.0)
    assert driver.store.lease is not None
    driver.store.lease = None
    driver.run(DURATION_SECONDS - 1.0)
    assert not driver.is_in(Phase.LEADING)
    driver.run(2.0)
    assert driver.is_in(Phase.LEADING)


def test_outcome_of_an_unanswered_seek_is_read() -> None:
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.store.is_forgetful = True
    driver.run(0.3)
    assert not driver.is_in(Phase.LEADING)
    assert not driver.may_acknowledge
    driver.store.is_forgetful = False
    driver.run(0.5)
    assert driver.is_in(Phase.LEADING)
    assert driver.elector.epoch == 5


# ---------------------------------------------------------------------- the in-sync set


def test_member_that_has_caught_up_is_added_to_isr() -> None:
    driver = leading()
    joined(driver, 2)
    driver.run(STEP)
    assert driver.store.lease is not None
    assert driver.store.lease.in_sync == {1, 2}
    assert driver.elector.in_sync is not None
    assert driver.elector.in_sync.persisted == {1, 2}


def test_no_member_is_removed_from_isr_before_the_acknowledged_log_is_flushed() -> None:
    driver = pair()
    driver.context.is_on_disk = False
    driver.run(PROGRESS_SECONDS + 3.0)
    assert driver.store.lease is not None
    assert driver.store.lease.in_sync == {1, 2}
    assert driver.may_acknowledge, "it is renewed all the same"
    driver.context.is_on_disk = True
    driver.run(2 * STEP)
    assert driver.store.lease.in_sync == {1}


def test_expanding_isr_does_not_wait_for_the_disk() -> None:
    driver = leading()
    driver.context.is_on_disk = False
    joined(driver, 2)
    driver.run(STEP)
    assert driver.store.lease is not None
    assert driver.store.lease.in_sync == {1, 2}


def test_master_keeps_flushing_while_a_removal_is_undecided() -> None:
    """What is acknowledged meanwhile waits for it."""
    driver = pair()
    driver.run(PROGRESS_SECONDS - 2 * STEP)
    driver.store.is_gone = True
    driver.run(1.0)
    assert driver.elector.in_sync is not None
    assert driver.elector.in_sync.size == 1, "it was proposed"
    before = driver.context.asked_for_disk
    driver.run(5 * STEP)
    assert driver.context.asked_for_disk >= before + 5


def test_a_set_whose_outcome_is_unknown_counts_both_ways_until_another_version_is_seen() -> None:
    driver = leading()
    joined(driver, 2)
    driver.store.is_gone = True
    in_sync = driver.elector.in_sync
    assert in_sync is not None
    driver.run(1.0)
    assert in_sync.counted == {1, 2}
    assert in_sync.persisted == {1}
    driver.store.is_gone = False
    joined(driver, 2)
    driver.run(0.5)
    assert in_sync.persisted == {1, 2}


def test_isr_that_was_written_without_an_answer_is_read() -> None:
    driver = leading()
    joined(driver, 2)
    driver.store.is_forgetful = True
    driver.run(STEP)
    driver.store.is_forgetful = False
    driver.run(0.5)
    in_sync = driver.elector.in_sync
    assert in_sync is not None
    assert in_sync.persisted == in_sync.counted == {1, 2}


def test_isr_written_by_another_program_counts_once_it_is_read() -> None:
    """An earlier Lease of the epoch was restored. The members that it names can be elected, and
    lack what was acknowledged since: nothing more is acknowledged without them."""
    driver = leading()
    assert driver.store.lease is not None
    driver.store.edit(replace(driver.store.lease, in_sync=frozenset({1, 3})))
    driver.store.is_read_only = True
    driver.run(1.5)
    in_sync = driver.elector.in_sync
    assert in_sync is not None
    assert in_sync.persisted == {1, 3}
    driver.store.is_read_only = False
    driver.run(0.5)
    assert driver.store.lease.in_sync == in_sync.counted == {1}


def test_master_whose_disk_stalls_steps_down_in_time() -> None:
    driver = leading()
    driver.context.stuck = "a sync takes long"
    driver.run(LEASE_DEADLINE_SECONDS + 2 * STEP)
    assert driver.is_in(Phase.WATCHING)
    driver.run(5.0)
    assert driver.is_in(Phase.WATCHING)
    driver.context.stuck = None
    driver.run(1.0)
    assert driver.is_in(Phase.LEADING)


def test_master_with_a_full_disk_stays_if_no_member_accepts_messages() -> None:
    driver = pair()
    epoch = driver.elector.epoch
    driver.context.full = "no space is left"
    runs_beside_2(driver, 10.0)
    assert driver.is_in(Phase.LEADING)
    assert driver.may_acknowledge
    assert driver.elector.epoch == epoch


def test_of_two_processes_in_one_seat_the_one_whose_write_was_refused_does_not_lead() -> None:
    """Both seek the same epoch: the loser reads its own number and the epoch that it sought."""
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.delay = 0.1
    driver.run(STEP)  # it reads
    twin = replace(MEMBER_ID, process="72" * 16)
    driver.store.edit(ALONE.acquired(twin, 5, frozenset({1}), {1: "02" * 16}))
    driver.run(3 * STEP)
    assert driver.is_in(Phase.SEEKING)
    driver.run(1.0)
    assert driver.is_in(Phase.WATCHING)
    assert not driver.store.writes


def test_master_replaces_the_lease_of_another_group_by_its_own() -> None:
    driver = leading()
    lease = driver.store.lease
    assert lease is not None
    driver.store.edit(replace(lease, group="ee" * 16))
    driver.run(2.0)
    assert driver.elector.epoch == lease.epoch
    assert driver.store.lease is not None
    assert driver.store.lease.group == lease.group


def test_master_writes_its_addresses_with_each_renewal() -> None:
    driver = leading()
    lease = driver.store.lease
    assert lease is not None
    driver.store.edit(replace(lease, address="m9:10911", ha_address="m9:10912"))
    driver.run(1.0)
    assert driver.store.lease is not None
    assert (driver.store.lease.address, driver.store.lease.ha_address) == ("m1:10911", "m1:10912")
