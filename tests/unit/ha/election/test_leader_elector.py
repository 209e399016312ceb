"""A member and its lease, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electors import (
    ALONE,
    BEHIND,
    PLACE,
    STEP,
    FakeContext,
    Life,
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
    life = leading()
    assert life.store.lease is not None
    assert (life.store.lease.holder, life.store.lease.epoch) == (1, 5)
    assert life.store.lease.ha_address == "m1:10912"
    assert life.may_acknowledge


def test_member_flushes_its_log_before_it_seeks_the_lease() -> None:
    life = Life(LeaseStore(ALONE), FakeContext())
    life.context.is_on_disk = False
    life.run(1.0)
    assert life.is_in(Phase.WATCHING)
    assert not life.store.writes
    life.context.is_on_disk = True
    life.run(2 * STEP)
    assert life.is_in(Phase.LEADING)


def test_empty_disk_takes_the_group_that_other_members_know() -> None:
    context = FakeContext()
    context.others[2] = BEHIND._replace(group="ab" * 16)
    life = Life(LeaseStore(ALONE), context)
    life.run(1.0)
    assert life.store.lease is not None
    assert life.store.lease.group == "ab" * 16


def test_an_epoch_that_no_member_could_read_is_not_sought() -> None:
    life = Life(LeaseStore(replace(ALONE, epoch=EPOCH_MAX)), FakeContext())
    life.context.seen_epoch = EPOCH_MAX
    life.run(3.0)
    assert life.is_in(Phase.WATCHING)
    assert not life.store.writes


def test_a_held_lease_is_waited_for_by_our_own_clock() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.run(DURATION_SECONDS - STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(2 * STEP)
    assert life.is_in(Phase.LEADING)


def test_each_renewal_of_another_master_restarts_its_duration() -> None:
    store = LeaseStore(replace(ALONE, holder=2))
    life = Life(store, FakeContext())
    for _ in range(10):
        assert store.lease is not None
        store.edit(replace(store.lease, renewals=store.lease.renewals + 1))
        life.run(1.0)
    assert life.is_in(Phase.WATCHING)


def test_master_that_renews_may_acknowledge() -> None:
    life = leading()
    for _ in range(20):
        life.run(0.5)
        assert life.may_acknowledge
    assert len(life.store.writes) <= 1 + 11.0 / 0.8


def test_lease_deadline_counts_from_when_the_renewal_was_sent() -> None:
    life = Life(LeaseStore(ALONE), FakeContext())
    life.delay = 1.2
    life.run(2 * 1.2 + 2 * STEP)
    assert life.is_in(Phase.LEADING)
    lease_deadline = life.elector.lease_deadline(life.context, life.now)
    assert lease_deadline == pytest.approx(life.now - 1.2 + LEASE_DEADLINE_SECONDS, abs=2 * STEP)


def test_a_master_whose_lease_store_is_gone_steps_down_before_others_may_take_it() -> None:
    life = leading()
    life.store.is_gone = True
    renewed_at = life.now
    life.run(LEASE_DEADLINE_SECONDS + STEP)
    assert life.elector.epoch == 0
    assert not life.may_acknowledge
    assert life.now < renewed_at + DURATION_SECONDS


def test_promises_keep_a_master_going_and_end_with_the_last_one() -> None:
    life = leading(replace(ALONE, in_sync=frozenset({1, 2})))
    life.context.others = {}
    life.store.is_gone = True
    for _ in range(20):
        life.context.promised = life.now
        life.run(0.5)
        assert life.is_in(Phase.LEADING)
    assert life.promisers == {2}
    life.run(LEASE_DEADLINE_SECONDS + STEP)
    assert life.is_in(Phase.WATCHING)


def test_members_that_must_promise() -> None:
    alone = leading()
    assert alone.promisers == {2, 3}
    unclean = leading(replace(ALONE, operator_requests=OperatorRequests(allows_unclean=True)))
    assert unclean.elector.must_promise() is None
    pair = replace(
        ALONE, in_sync=frozenset({1, 3}), operator_requests=OperatorRequests(allows_unclean=True)
    )
    life = leading(pair)
    assert life.promisers == {2, 3}


def test_a_promise_is_kept_though_the_lease_has_expired() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.run(3.5)
    assert life.elector.promise(4, life.now)
    life.run(DURATION_SECONDS - STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(2 * STEP)
    assert life.is_in(Phase.LEADING)


def test_member_that_seeks_or_leads_makes_no_promise() -> None:
    life = leading()
    assert not life.elector.promise(9, life.now)
    seeking = Life(LeaseStore(ALONE), FakeContext())
    seeking.delay = 0.5
    seeking.run(0.6)
    assert seeking.is_in(Phase.SEEKING)
    assert not seeking.elector.promise(9, seeking.now)


def test_master_of_an_older_epoch_gets_no_promise() -> None:
    life = Life(LeaseStore(replace(ALONE, holder=2)), FakeContext())
    life.run(1.0)
    assert not life.elector.promise(3, life.now)


def test_master_steps_down_when_the_lease_names_another_holder() -> None:
    life = leading()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, holder=2, epoch=6))
    life.run(1.0)
    assert life.is_in(Phase.WATCHING)
    assert not life.may_acknowledge


def test_edit_by_an_operator_keeps_the_seal_valid() -> None:
    life = leading()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, operator_requests=OperatorRequests(preferred=3)))
    life.run(2.0)
    assert life.is_in(Phase.LEADING)
    assert life.store.lease.operator_requests.preferred == 3


def test_new_group_elects_a_master_when_all_members_report() -> None:
    context = FakeContext()
    context.others = {}
    context.seen_epoch = 0
    life = Life(LeaseStore(), context, is_new=True)
    life.run(2.0)
    assert life.store.lease is None
    assert not life.is_in(Phase.LEADING)
    new = MemberReport(0, (), 0, 0, is_electable=True)
    context.others = {2: new, 3: new}
    life.run(1.0)
    assert life.elector.epoch == 1


def test_lease_created_again_counts_from_then_on() -> None:
    """Another member may have been master between two reads without a Lease."""
    life = Life(LeaseStore(), FakeContext())
    life.run(DURATION_SECONDS - 1.0)
    assert life.store.lease is not None
    life.store.lease = None
    life.run(DURATION_SECONDS - 1.0)
    assert not life.is_in(Phase.LEADING)
    life.run(2.0)
    assert life.is_in(Phase.LEADING)


def test_outcome_of_an_unanswered_seek_is_read() -> None:
    life = Life(LeaseStore(ALONE), FakeContext())
    life.store.is_forgetful = True
    life.run(0.3)
    assert not life.is_in(Phase.LEADING)
    assert not life.may_acknowledge
    life.store.is_forgetful = False
    life.run(0.5)
    assert life.is_in(Phase.LEADING)
    assert life.elector.epoch == 5


# ---------------------------------------------------------------------- the in-sync set


def test_member_that_has_caught_up_is_added_to_isr() -> None:
    life = leading()
    joined(life, 2)
    life.run(STEP)
    assert life.store.lease is not None
    assert life.store.lease.in_sync == {1, 2}
    assert life.elector.in_sync is not None
    assert life.elector.in_sync.persisted == {1, 2}


def test_no_member_is_removed_from_isr_before_the_acknowledged_log_is_flushed() -> None:
    life = pair()
    life.context.is_on_disk = False
    life.run(PROGRESS_SECONDS + 3.0)
    assert life.store.lease is not None
    assert life.store.lease.in_sync == {1, 2}
    assert life.may_acknowledge, "it is renewed all the same"
    life.context.is_on_disk = True
    life.run(2 * STEP)
    assert life.store.lease.in_sync == {1}


def test_expanding_isr_does_not_wait_for_the_disk() -> None:
    life = leading()
    life.context.is_on_disk = False
    joined(life, 2)
    life.run(STEP)
    assert life.store.lease is not None
    assert life.store.lease.in_sync == {1, 2}


def test_master_keeps_flushing_while_a_removal_is_undecided() -> None:
    """What is acknowledged meanwhile waits for it."""
    life = pair()
    life.run(PROGRESS_SECONDS - 2 * STEP)
    life.store.is_gone = True
    life.run(1.0)
    assert life.elector.in_sync is not None
    assert life.elector.in_sync.size == 1, "it was proposed"
    before = life.context.asked_for_disk
    life.run(5 * STEP)
    assert life.context.asked_for_disk >= before + 5


def test_a_set_whose_outcome_is_unknown_counts_both_ways_until_another_version_is_seen() -> None:
    life = leading()
    joined(life, 2)
    life.store.is_gone = True
    in_sync = life.elector.in_sync
    assert in_sync is not None
    life.run(1.0)
    assert in_sync.counted == {1, 2}
    assert in_sync.persisted == {1}
    life.store.is_gone = False
    joined(life, 2)
    life.run(0.5)
    assert in_sync.persisted == {1, 2}


def test_isr_that_was_written_without_an_answer_is_read() -> None:
    life = leading()
    joined(life, 2)
    life.store.is_forgetful = True
    life.run(STEP)
    life.store.is_forgetful = False
    life.run(0.5)
    in_sync = life.elector.in_sync
    assert in_sync is not None
    assert in_sync.persisted == in_sync.counted == {1, 2}


def test_isr_written_by_another_program_counts_once_it_is_read() -> None:
    """An earlier Lease of the epoch was restored. The members that it names can be elected, and
    lack what was acknowledged since: nothing more is acknowledged without them."""
    life = leading()
    assert life.store.lease is not None
    life.store.edit(replace(life.store.lease, in_sync=frozenset({1, 3})))
    life.store.is_read_only = True
    life.run(1.5)
    in_sync = life.elector.in_sync
    assert in_sync is not None
    assert in_sync.persisted == {1, 3}
    life.store.is_read_only = False
    life.run(0.5)
    assert life.store.lease.in_sync == in_sync.counted == {1}


def test_master_whose_disk_stalls_steps_down_in_time() -> None:
    life = leading()
    life.context.stuck = "a sync takes long"
    life.run(LEASE_DEADLINE_SECONDS + 2 * STEP)
    assert life.is_in(Phase.WATCHING)
    life.run(5.0)
    assert life.is_in(Phase.WATCHING)
    life.context.stuck = None
    life.run(1.0)
    assert life.is_in(Phase.LEADING)


def test_master_with_a_full_disk_stays_if_no_member_accepts_messages() -> None:
    life = pair()
    epoch = life.elector.epoch
    life.context.full = "no space is left"
    runs_beside_2(life, 10.0)
    assert life.is_in(Phase.LEADING)
    assert life.may_acknowledge
    assert life.elector.epoch == epoch


def test_of_two_processes_in_one_seat_the_one_whose_write_was_refused_does_not_lead() -> None:
    """Both seek the same epoch: the loser reads its own number and the epoch that it sought."""
    life = Life(LeaseStore(ALONE), FakeContext())
    life.delay = 0.1
    life.run(STEP)  # it reads
    twin = replace(PLACE, process="72" * 16)
    life.store.edit(ALONE.acquired(twin, 5, frozenset({1}), {1: "02" * 16}))
    life.run(3 * STEP)
    assert life.is_in(Phase.SEEKING)
    life.run(1.0)
    assert life.is_in(Phase.WATCHING)
    assert not life.store.writes


def test_master_replaces_the_lease_of_another_group_by_its_own() -> None:
    life = leading()
    lease = life.store.lease
    assert lease is not None
    life.store.edit(replace(lease, group="ee" * 16))
    life.run(2.0)
    assert life.elector.epoch == lease.epoch
    assert life.store.lease is not None
    assert life.store.lease.group == lease.group


def test_master_writes_its_addresses_with_each_renewal() -> None:
    life = leading()
    lease = life.store.lease
    assert lease is not None
    life.store.edit(replace(lease, address="m9:10911", ha_address="m9:10912"))
    life.run(1.0)
    assert life.store.lease is not None
    assert (life.store.lease.address, life.store.lease.ha_address) == ("m1:10911", "m1:10912")
