"""How long a master may acknowledge."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leading.lease_timer import ASK_AFTER_SECONDS, LeaseTimer
from gantrymq.ha.lease.lease import LEASE_DEADLINE_SECONDS, Lease, OperatorRequests
from gantrymq.ha.lease.member_id import MemberId

PLACE = MemberId(1, frozenset({1, 2, 3}), "m1:10911", "m1:10912", process="71" * 16)
UNCLEAN = replace(Lease(), operator_requests=OperatorRequests(allows_unclean=True))


def test_it_counts_from_when_the_renewal_was_sent() -> None:
    lease_timer = LeaseTimer(PLACE)
    assert lease_timer.ends_at(None) == float("-inf")
    lease_timer.renew(10.0)
    assert lease_timer.ends_at(None) == 10.0 + LEASE_DEADLINE_SECONDS
    assert lease_timer.asks_at == 10.0 + ASK_AFTER_SECONDS
    lease_timer.end()
    assert lease_timer.ends_at(None) == float("-inf")


def test_promises_make_it_longer_and_never_shorter() -> None:
    lease_timer = LeaseTimer(PLACE)
    lease_timer.renew(10.0)
    assert lease_timer.ends_at(12.0) == 12.0 + LEASE_DEADLINE_SECONDS
    assert lease_timer.ends_at(9.0) == 10.0 + LEASE_DEADLINE_SECONDS


def test_all_in_sync_members_must_promise_and_all_configured_to_a_lone_master() -> None:
    lease_timer = LeaseTimer(PLACE)
    assert lease_timer.must_promise(
        Lease(), InSyncReplicas(1, {1, 2}, 0.0, flushes=False)
    ) == frozenset({2})
    assert lease_timer.must_promise(
        Lease(), InSyncReplicas(1, {1}, 0.0, flushes=False)
    ) == frozenset({2, 3})


def test_where_others_may_be_master_all_have_to_promise() -> None:
    lease_timer = LeaseTimer(PLACE)
    assert lease_timer.must_promise(
        UNCLEAN, InSyncReplicas(1, {1, 2}, 0.0, flushes=False)
    ) == frozenset({2, 3})
    assert lease_timer.must_promise(UNCLEAN, InSyncReplicas(1, {1}, 0.0, flushes=False)) is None
