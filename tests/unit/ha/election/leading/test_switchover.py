"""What an operator wants of a master."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.ha.election.leading.switchover import SWITCH_SECONDS, Switchover
from gantrymq.ha.lease.lease import NO_MEMBER, Lease, OperatorRequests

LEASE = Lease("1", holder=1, in_sync=frozenset({1, 2, 3}))
TO_TWO = replace(LEASE, operator_requests=OperatorRequests(switch_to=2, number=5))


def test_without_a_request_there_is_no_switchover() -> None:
    switch = Switchover(1)
    assert switch.successor(LEASE, {1, 2}, 0.0) is None
    assert switch.granted(LEASE, 0.0) == 0


def test_requested_member_gets_the_lease_once_it_is_in_sync() -> None:
    switch = Switchover(1)
    assert switch.successor(TO_TWO, {1, 3}, 0.0) is None
    assert switch.granted(TO_TWO, 1.0) == 0
    assert switch.successor(TO_TWO, {1, 2, 3}, 1.0) == 2


def test_chosen_successor_is_waited_for_only_briefly() -> None:
    switch = Switchover(1)
    switch.successor(TO_TWO, {1, 3}, 0.0)
    assert switch.successor(TO_TWO, {1, 2, 3}, SWITCH_SECONDS) is None
    assert switch.granted(TO_TWO, SWITCH_SECONDS) == 5


def test_switchover_to_the_current_master_is_granted() -> None:
    assert Switchover(2).granted(TO_TWO, 0.0) == 5


def test_fenced_master_hands_over_to_any_member() -> None:
    fenced = replace(LEASE, fenced=frozenset({1, 2}))
    switch = Switchover(1)
    assert switch.successor(fenced, {1, 2, 3}, 0.0) == NO_MEMBER
    assert switch.successor(fenced, {1, 2}, 0.0) is None, "no other member may"
