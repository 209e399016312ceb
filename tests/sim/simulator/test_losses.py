"""Which losses of groups are excused, held against logs that are made up."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from gantrymq.ha.lease.lease import Lease, OperatorRequests
from gantrymq.sim.checks.group_check_scene import (
    SIZE,
    Broker,
    Scene,
    acknowledged_by_both,
    replaced,
)
from gantrymq.sim.nodes.group_volumes import TWIN


def with_a_loss_allowed() -> Scene:
    """Member 2 has one of two messages of the set of member 1; an operator has allowed a loss."""
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 1)
    scene.log(2, b"a")
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.leases.change_requests(lambda operator_requests: OperatorRequests(allows_unclean=True))
    return scene


def test_a_loss_is_excused_where_the_operator_allowed_it() -> None:
    scene = with_a_loss_allowed()
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    assert scene.world.tally["excused losses: unclean"] == 1
    scene.log(1, b"a", b"new")
    scene.log(2, b"a", b"new")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
    scene.acknowledge(1, 1)


def test_but_not_where_a_member_of_the_set_was_elected() -> None:
    scene = with_a_loss_allowed()
    scene.log(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="leads epoch 2 without"):
        scene.lead(0, 2)


def test_nor_by_a_later_election_that_needed_no_permission() -> None:
    scene = with_a_loss_allowed()
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    for number in (1, 2):
        scene.log(number, b"a", b"new")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
    scene.acknowledge(1, 1)
    scene.log(1, b"a")
    scene.write(Lease(holder=1, epoch=3, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="leads epoch 3 without"):
        scene.lead(0, 3)


def test_and_where_no_disk_had_to_have_it_and_each_of_the_set_lost_it() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a")
    scene.lose(2, b"a", b"b")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    assert scene.world.tally["excused losses"] == 1


def test_but_not_where_a_machine_that_is_down_still_has_it() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a", b"b", b"c")
    scene.lose(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match="member 1 did not lose it"):
        scene.lead(1, 2)


def test_loss_is_not_excused_when_a_removed_member_had_it_too() -> None:
    scene = acknowledged_by_both()
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.lose(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match=r"in \{1, 2\}, and member 2 did not"):
        scene.lead(0, 2)


def test_nor_where_a_part_of_it_is_left_elsewhere() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a", b"b")
    scene.lose(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match=f"member 1 has {2 * SIZE}"):
        scene.lead(1, 2)


def test_loss_is_not_excused_when_a_member_lost_it_otherwise() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a")
    scene.log(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match="member 2 did not lose it"):
        scene.lead(1, 2)


def test_where_the_lease_was_gone_everybodys_log_counts() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    scene.lose(1)
    scene.lose(2, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match=f"member 3 has {2 * SIZE}"):
        scene.lead(1, 2)
    scene.log(3, b"a")
    scene.lead(1, 3)
    assert scene.world.tally["excused losses"] == 1


def test_and_then_one_from_outside_of_the_set_may_have_most() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    scene.lose(1)
    scene.lose(2, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))
    scene.brokers.append(Broker(3))
    scene.lead(2, 2)
    assert scene.world.tally["excused losses"] == 1


def elected_twice_without_a_lease(*lost: int) -> Scene:
    """Member 3, whose first epoch had no master; it had two of three messages."""
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    for number in lost:
        scene.lose(number, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))
    scene.write(Lease(holder=3, epoch=3, in_sync=frozenset({3})))
    scene.brokers.append(Broker(3))
    return scene


def test_epoch_without_a_master_takes_no_excuse_away() -> None:
    scene = elected_twice_without_a_lease(1, 2)
    scene.lead(2, 3)
    assert scene.world.tally["excused losses"] == 1


def test_and_gives_none() -> None:
    scene = elected_twice_without_a_lease(1)
    with pytest.raises(AssertionError, match="member 3 did not lose it"):
        scene.lead(2, 3)


def test_nor_does_one_that_was_led() -> None:
    scene = elected_twice_without_a_lease(1, 2)
    scene.lead(2, 3)
    for number in (2, 3):
        scene.log(number, b"a", b"b", b"d")
    scene.write(Lease(holder=3, epoch=3, in_sync=frozenset({2, 3})))
    scene.acknowledge(2, 2)
    scene.lose(2, b"a", b"b")
    scene.log(3, b"a", b"b")
    scene.write(Lease(holder=3, epoch=4, in_sync=frozenset({3})))
    with pytest.raises(AssertionError, match="member 3 did not lose it"):
        scene.lead(2, 4)


def test_a_member_of_the_set_may_lack_what_its_machine_lost_and_nothing_else() -> None:
    scene = Scene(flushes=False)
    scene.log(1, b"a", b"b", b"c")
    scene.log(2, b"a", b"b")
    scene.lose(2, b"a")
    scene.read(0, 2)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.read(0, 3)


def test_only_until_it_has_it_again() -> None:
    scene = acknowledged_by_both()
    scene.lose(2, b"a")
    scene.log(2, b"a", b"b", b"c")
    scene.checks.appended(scene.brokers[1], scene.checks.mirror(2).records[1:])
    scene.log(2, b"a")
    scene.lose(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="member 2 did not lose it"):
        scene.lead(0, 2)


def test_but_not_where_it_was_to_be_on_its_disk() -> None:
    scene = acknowledged_by_both(flushes=True)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.lose(2, b"a")


def test_a_member_of_the_set_may_lack_what_was_on_a_disk_that_was_replaced() -> None:
    scene = acknowledged_by_both(flushes=True)
    replaced(scene, 2)
    scene.log(1, b"a", b"b", b"c", b"d")
    with pytest.raises(AssertionError, match="member 2 lacks b'd'"):
        scene.acknowledge(0, 3)


def test_until_it_has_as_much_again_on_the_disk_where_messages_wait_for_that() -> None:
    scene = acknowledged_by_both(flushes=True)
    replaced(scene, 2)
    for flushed in (0, 2 * SIZE, 3 * SIZE):
        scene.log(2, b"a", b"b", b"c")
        scene.brokers[1].flushed = flushed
        scene.checks.appended(scene.brokers[1], scene.checks.mirror(2).from_(0))
        has_all = flushed == 3 * SIZE
        with pytest.raises(AssertionError, match="lacks b'c'") if has_all else nullcontext():
            scene.lose(2)


def test_what_a_seat_has_lost_is_not_forgotten_when_other_machines_take_it_over() -> None:
    scene = acknowledged_by_both(flushes=True)
    for number in (TWIN + 1, TWIN + 2):
        scene.log(number)
        scene.checks.takes_over(number, 2)
    scene.checks.reread(2, [], was_cut=False)
    scene.log(1, b"a", b"b", b"c", b"d")
    with pytest.raises(AssertionError, match="member 2 lacks b'd'"):
        scene.acknowledge(0, 3)


def test_but_not_lead_as_others_have_it() -> None:
    for flushes in (True, False):
        scene = acknowledged_by_both(flushes=flushes)
        replaced(scene, 2)
        scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
        with pytest.raises(AssertionError, match="leads epoch 2 without"):
            scene.lead(1, 2)


def test_a_disk_is_replaced_only_where_nothing_is_lost_with_it() -> None:
    scene = acknowledged_by_both()
    assert scene.checks.is_spare(2, {1, 2})
    assert not scene.checks.is_spare(2, {2})
    replaced(scene, 2)
    assert scene.checks.is_spare(2, {1, 2})
    assert not scene.checks.is_spare(1, {1, 2})
    scene.write(Lease(holder=2, epoch=1, in_sync=frozenset({2})))
    assert not scene.checks.is_spare(1, {1, 2})
    scene.leases.delete()
    assert not scene.checks.is_spare(2, {1, 2})
