"""What a member takes for the lease, and for a renewal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.ha.election.actions import WriteLease
from gantrymq.ha.election.lease_client_state import LeaseClientState, Outcome
from gantrymq.ha.lease.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    OperatorRequests,
    Unanswered,
    Written,
)
from gantrymq.ha.lease.member_id import MemberId

LEASE = Lease(
    "7",
    holder=1,
    address="m1:10911",
    ha_address="m1:10912",
    epoch=4,
    in_sync=frozenset({1, 2}),
    renewals=50,
    group="ab" * 16,
    disks={1: "01" * 16, 2: "02" * 16},
    writer="71" * 16,
)
PLACE = MemberId(1, frozenset({1, 2}), LEASE.address, LEASE.ha_address, LEASE.writer)


def read(lease_state: LeaseClientState, answer: LeaseAnswer, now: float) -> Lease | None:
    lease_state.read(now)
    (asked,) = lease_state.take_actions()
    assert lease_state.answered(asked.number, answer, now) is Outcome.READ
    return lease_state.lease


def knowing(lease: Lease = LEASE) -> LeaseClientState:
    lease_state = LeaseClientState(0.0)
    assert read(lease_state, Found(lease), 1.0) == lease
    return lease_state


@pytest.mark.parametrize(
    "changed",
    [replace(LEASE, renewals=51), replace(LEASE, epoch=5), replace(LEASE, holder=0, renewals=51)],
)
def test_a_renewal_is_a_change_of_holder_epoch_or_renewals(changed: Lease) -> None:
    lease_state = knowing()
    read(lease_state, Found(replace(changed, version="8")), 2.0)
    assert lease_state.changed_at == 2.0


def test_no_other_change_is_one() -> None:
    lease_state = knowing()
    read(lease_state, Found(replace(LEASE, version="8")), 2.0)
    read(
        lease_state,
        Found(replace(LEASE, version="9", operator_requests=OperatorRequests(preferred=2))),
        3.0,
    )
    read(
        lease_state,
        Found(replace(LEASE, version="9", operator_requests=OperatorRequests(preferred=2))),
        4.0,
    )
    assert (lease_state.changed_at, lease_state.touched_at) == (1.0, 3.0)
    assert lease_state.lease is not None
    assert (lease_state.lease.version, lease_state.lease.operator_requests.preferred) == ("9", 2)


@pytest.mark.parametrize(
    "found",
    [
        replace(LEASE, version="8", renewals=49),
        replace(LEASE, version="8", epoch=3, renewals=60),
        replace(LEASE, version="8", in_sync=frozenset({1})),
        replace(LEASE, version="8", disks={1: "01" * 16, 2: "03" * 16}),
        replace(LEASE, version="8", address="m9:10911"),
        replace(LEASE, version="8", ha_address="m9:10912"),
        replace(LEASE, version="8", granted=7),
        replace(LEASE, version="8", writer=""),
        replace(LEASE, version="8", renewals=60, group=""),
        replace(LEASE, version="8", renewals=51, holder=2),
        replace(LEASE, version="8", renewals=51, untrusted_reason="its seal is broken"),
    ],
)
def test_what_contradicts_what_is_known_does_not_take_its_place(found: Lease) -> None:
    lease_state = knowing()
    lease = read(
        lease_state, Found(replace(found, operator_requests=OperatorRequests(preferred=2))), 2.0
    )
    assert lease is not None
    assert lease.untrusted_reason
    assert lease.claimed == found.in_sync
    assert (lease.version, lease.operator_requests.preferred) == ("8", 2)
    assert (lease.mark, lease.in_sync, lease.disks) == (LEASE.mark, LEASE.in_sync, LEASE.disks)
    assert (lease_state.changed_at, lease_state.touched_at) == (1.0, 2.0)


def test_a_deleted_lease_is_remembered() -> None:
    lease_state = knowing()
    lease = read(lease_state, Missing(), 2.0)
    assert lease is not None
    assert (lease.version, lease.epoch, lease.in_sync) == ("", 4, LEASE.in_sync)
    assert lease.untrusted_reason
    assert (lease_state.changed_at, lease_state.touched_at) == (1.0, 2.0)


def test_the_lease_of_another_group_takes_its_place() -> None:
    other = Lease("9", group="cd" * 16)
    assert read(knowing(), Found(other), 2.0) == other


def test_a_master_doubts_the_lease_of_another_group_in_the_place_of_its_own() -> None:
    lease_state = knowing()
    lease_state.read(2.0)
    (asked,) = lease_state.take_actions()
    lease_state.answered(
        asked.number, Found(replace(LEASE, version="9", group="cd" * 16)), 2.0, leads=True
    )
    assert lease_state.lease is not None
    assert lease_state.lease.untrusted_reason
    assert (lease_state.lease.version, lease_state.lease.group) == ("9", LEASE.group)


def test_an_earlier_life_remembers_for_this_one() -> None:
    lease_state = LeaseClientState(0.0, LEASE)
    lease = read(lease_state, Found(replace(LEASE, version="8", renewals=20)), 1.0)
    assert lease is not None
    assert lease.untrusted_reason


@pytest.mark.parametrize("between", [[], [Missing()]])
def test_a_lease_that_was_doubted_when_none_was_known_contradicts_no_later_one(
    between: list[LeaseAnswer],
) -> None:
    """As a member with a new disk reads it, just after the epoch was edited."""
    lease_state = LeaseClientState(0.0)
    edited = replace(LEASE, version="8", epoch=999_999_999, untrusted_reason="its seal is broken")
    for answer in [Found(edited), *between]:
        read(lease_state, answer, 1.0)
    mended = replace(LEASE, version="9", epoch=5)
    assert read(lease_state, Found(mended), 2.0) == mended
    older = read(lease_state, Found(replace(LEASE, version="10")), 3.0)
    assert older is not None
    assert older.untrusted_reason
    assert older.mark == mended.mark


def test_a_copy_of_a_version_that_knew_no_writer_contradicts_none() -> None:
    lease_state = LeaseClientState(0.0, replace(LEASE, writer=""))
    assert read(lease_state, Found(LEASE), 1.0) == LEASE


def test_what_is_written_behind_a_doubted_one_is_believed_again() -> None:
    lease_state = knowing()
    lease = read(lease_state, Found(replace(LEASE, version="8", renewals=49)), 2.0)
    assert lease is not None
    lease_state.write(lease.renewed(PLACE, lease.in_sync, 0, lease.disks), 2.0)
    (asked,) = lease_state.take_actions()
    assert lease_state.answered(asked.number, Written("9"), 2.1) is Outcome.WRITTEN
    assert lease_state.lease == replace(LEASE, version="9", renewals=51)


def test_a_write_that_was_undone_before_it_was_known_is_no_mark_of_the_next_one() -> None:
    """An earlier Lease is restored over it; other members have seen it, and wait for a renewal."""
    lease_state = knowing()
    lease_state.write(LEASE.renewed(PLACE, LEASE.in_sync, 0, LEASE.disks), 2.0)
    (first,) = lease_state.take_actions()
    lease_state.answered(first.number, Unanswered("no answer in time"), 3.0)
    lease = read(lease_state, Found(replace(LEASE, version="9", renewals=20)), 3.0)
    assert lease is not None
    lease_state.write(lease.renewed(PLACE, lease.in_sync, 0, lease.disks), 3.1)
    (second,) = lease_state.take_actions()
    assert isinstance(first, WriteLease)
    assert isinstance(second, WriteLease)
    assert LEASE.mark < first.lease.mark < second.lease.mark
    lease_state.answered(second.number, Written("10"), 3.2)
    assert lease_state.lease is not None
    assert lease_state.lease.mark == second.lease.mark


def test_an_empty_lease_that_was_made_says_nothing_of_the_set() -> None:
    lease_state = knowing()
    read(lease_state, Missing(), 2.0)
    lease_state.write(Lease(group=LEASE.group), 6.0)
    (asked,) = lease_state.take_actions()
    lease_state.answered(asked.number, Written("1"), 6.0)
    assert lease_state.lease is not None
    assert lease_state.lease.untrusted_reason
    assert (lease_state.lease.version, lease_state.lease.in_sync) == ("1", LEASE.in_sync)


def test_a_refused_write_is_read_again_at_once() -> None:
    lease_state = knowing()
    lease_state.write(LEASE.renewed(PLACE, LEASE.in_sync, 0), 2.0)
    (asked,) = lease_state.take_actions()
    assert lease_state.answered(asked.number, Conflict(), 2.1) is Outcome.FAILED
    assert lease_state.is_stale
    assert lease_state.read_at == 2.1
