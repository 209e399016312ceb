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
MEMBER_ID = MemberId(1, frozenset({1, 2}), LEASE.address, LEASE.ha_address, LEASE.writer)


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


def test_no_other_change_is_a_renewal() -> None:
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
def test_contradicting_lease_does_not_replace_the_known_one(found: Lease) -> None:
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


def test_master_distrusts_the_lease_of_another_group() -> None:
    lease_state = knowing()
    lease_state.read(2.0)
    (asked,) = lease_state.take_actions()
    lease_state.answered(
        asked.number, Found(replace(LEASE, version="9", group="cd" * 16)), 2.0, leads=True
    )
    assert lease_state.lease is not None
    assert lease_state.lease.untrusted_reason
    assert (lease_state.lease.version, lease_state.lease.group) == ("9", LEASE.group)


def test_last_lease_of_an_earlier_process_is_used() -> None:
    lease_state = LeaseClientState(0.0, LEASE)
    lease = read(lease_state, Found(replace(LEASE, version="8", renewals=20)), 1.0)
    assert lease is not None
    assert lease.untrusted_reason


@pytest.mark.parametrize("between", [[], [Missing()]])
def test_untrusted_first_lease_is_not_compared_with_later_ones(
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


def test_lease_written_after_an_untrusted_one_is_trusted() -> None:
    lease_state = knowing()
    lease = read(lease_state, Found(replace(LEASE, version="8", renewals=49)), 2.0)
    assert lease is not None
    lease_state.write(lease.renewed(MEMBER_ID, lease.in_sync, 0, lease.disks), 2.0)
    (asked,) = lease_state.take_actions()
    assert lease_state.answered(asked.number, Written("9"), 2.1) is Outcome.WRITTEN
    assert lease_state.lease == replace(LEASE, version="9", renewals=51)


def test_mark_of_an_undone_write_is_not_used_again() -> None:
    """An earlier Lease is restored over it; other members have seen it, and wait for a renewal."""
    lease_state = knowing()
    lease_state.write(LEASE.renewed(MEMBER_ID, LEASE.in_sync, 0, LEASE.disks), 2.0)
    (first,) = lease_state.take_actions()
    lease_state.answered(first.number, Unanswered("no answer in time"), 3.0)
    lease = read(lease_state, Found(replace(LEASE, version="9", renewals=20)), 3.0)
    assert lease is not None
    lease_state.write(lease.renewed(MEMBER_ID, lease.in_sync, 0, lease.disks), 3.1)
    (second,) = lease_state.take_actions()
    assert isinstance(first, WriteLease)
    assert isinstance(second, WriteLease)
    assert LEASE.mark < first.lease.mark < second.lease.mark
    lease_state.answered(second.number, Written("10"), 3.2)
    assert lease_state.lease is not None
    assert lease_state.lease.mark == second.lease.mark


def test_lease_without_members_does_not_name_an_isr() -> None:
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
    lease_state.write(LEASE.renewed(MEMBER_ID, LEASE.in_sync, 0), 2.0)
    (asked,) = lease_state.take_actions()
    assert lease_state.answered(asked.number, Conflict(), 2.1) is Outcome.FAILED
    assert lease_state.is_stale
    assert lease_state.read_at == 2.1
