"""Disks that are not what a seat had: nothing is lost with them, and they do not lead."""

from __future__ import annotations

import pytest

from gantrymq.ha.member.links.seat_conflicts import LASTING_SECONDS, OVER_SECONDS
from gantrymq.ha.member.member import Member
from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    NEVER_RESTARTS,
    WELL_SECONDS,
    follower,
    is_answered,
    is_led_on,
    is_whole,
    kill_for_good,
    leads,
    master,
    must_have_everything,
    run,
    until,
    well,
)
from gantrymq.sim.nodes.group_member import MemberReplica
from gantrymq.sim.nodes.group_node import Node
from gantrymq.sim.nodes.group_volumes import foreign, log_of
from gantrymq.testing.faulty_disk import Faults

SEEDS = range(2)
LATER_SECONDS = 12.0


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("members", [2, 3])
def test_a_foreign_disk_with_higher_epochs_moves_no_role_and_cuts_nothing(
    seed: int, members: int
) -> None:
    """A volume of another group, whose epochs are higher, is mounted for a follower."""
    group = well(seed, members)
    old, node, is_led = master(group), follower(group), is_led_on(group)
    run(group, 3.0)
    volume = foreign(node.seat, node.settings.store, node.choose, group.world.random("foreign"))
    before = log_of(volume)
    own = node.mount(volume)
    run(group, LATER_SECONDS)
    assert leads(old)
    assert not is_led()
    must_have_everything(group)
    node.mount(own)
    assert log_of(volume) == before
    until(group, lambda: is_whole(group), WELL_SECONDS)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_foreign_disk_is_not_elected_when_the_master_is_gone(seed: int) -> None:
    """One of three members has a foreign disk, and the master stops forever."""
    group = well(seed, 3)
    old, node, is_led = master(group), follower(group), is_led_on(group)
    (other,) = (each for each in group.nodes.values() if each not in (old, node))
    node.mount(foreign(node.seat, node.settings.store, node.choose, group.world.random("foreign")))
    run(group, 4.0)
    kill_for_good(old)
    until(group, is_led, ELECTED_SECONDS)
    assert leads(other)
    run(group, LATER_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_member_is_found_again_at_the_address_of_a_foreign_disk(seed: int) -> None:
    """Name servers must not keep the address for the epoch that the other group had."""
    group = well(seed, 2)
    node = master(group)
    own = node.mount(
        foreign(node.seat, node.settings.store, node.choose, group.world.random("foreign"))
    )
    run(group, 6.0)
    node.mount(own)
    until(group, lambda: is_whole(group), WELL_SECONDS)
    (other,) = (each for each in group.nodes.values() if each is not node)
    is_led = is_led_on(group)
    if leads(other):
        kill_for_good(other)
        until(group, is_led, ELECTED_SECONDS)
    until(group, is_answered(group), ELECTED_SECONDS)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("flushes", [True, False])
def test_a_disk_that_was_rolled_back_does_not_lead_without_what_came_since(
    seed: int, *, flushes: bool
) -> None:
    """A follower's disk is an older one of its own, and the master ends at the same time."""
    group = well(seed, 3, flushes=flushes)
    node = follower(group)
    snapshot = node.volume.snapshot()
    run(group, 5.0)
    old, is_led = master(group), is_led_on(group)
    node.roll_back(snapshot)
    kill_for_good(old)
    until(group, is_led, ELECTED_SECONDS)
    assert not leads(node)
    run(group, LATER_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("flushes", [True, False])
def test_a_volume_that_was_mounted_again_may_have_lost_what_was_cached(
    seed: int, *, flushes: bool
) -> None:
    """The master's volume fails and comes back on the same machine: the others have everything."""
    group = well(seed, 3, flushes=flushes)
    run(group, 4.0)
    old, is_led = master(group), is_led_on(group)
    old.restart_seconds = (0.1, 0.1)
    old.remount()
    until(group, is_led, ELECTED_SECONDS)
    run(group, LATER_SECONDS)
    must_have_everything(group)
    assert is_whole(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_machines_in_one_seat_the_one_with_the_disk_of_the_set_leads(seed: int) -> None:
    """The follower of two members has a second machine with an empty disk; the master stops."""
    group = well(seed, 2)
    old, node = master(group), follower(group)
    twin = group.twin(node.number)
    group.directory.seats[node.number] = twin.number
    twin.start()
    run(group, 6.0)
    is_led, epoch = is_led_on(group), group.checks.epoch
    kill_for_good(old)
    until(group, is_led, ELECTED_SECONDS)
    assert leads(node)
    run(group, LATER_SECONDS)
    assert group.checks.epoch == epoch + 1
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_two_machines_in_one_seat_are_reported_by_the_master_and_by_the_refused_one(
    seed: int,
) -> None:
    group = well(seed, 3)
    node = follower(group)
    assert _conflicts(master(group)) == []
    twin = group.twin(node.number)
    twin.start()
    run(group, LASTING_SECONDS + 2.0)
    (text,) = _conflicts(master(group))
    assert text.startswith(f"member {node.number} is in sync with the disk ")
    assert _member(twin).refusal == text
    assert _member(node).refusal == ""
    assert is_whole(group)
    twin.retire()
    run(group, OVER_SECONDS)
    assert _conflicts(master(group)) == []
    must_have_everything(group)


def _member(node: Node) -> Member:
    assert node.process is not None
    assert isinstance(node.process.replica, MemberReplica)
    return node.process.replica.member


def _conflicts(node: Node) -> list[str]:
    return [*_member(node).conflicts(node.place.monotonic)]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_second_machine_in_the_seat_of_the_set_is_no_sign_that_its_disk_is_gone(
    seed: int,
) -> None:
    """The master is alone in the set, and starts anew while a second machine has its seat."""
    group = well(seed, 3)
    old = master(group)
    others = [node for node in group.nodes.values() if node is not old]
    for node in others:
        node.restart_seconds = (6.0, 6.0)
        node.kill()
    run(group, 5.0)
    twin = group.twin(old.number)
    group.directory.seats[old.number] = twin.number
    twin.start()
    old.restart_seconds = (9.0, 9.0)
    is_led = is_led_on(group)
    old.kill()
    run(group, 8.0)
    assert not is_led()
    twin.retire()
    del group.directory.seats[old.number]
    until(group, is_led, ELECTED_SECONDS)
    run(group, LATER_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_disk_that_lies_is_not_chosen_when_its_power_was_gone(seed: int) -> None:
    """What it called flushed is gone; others of the set have it."""
    group = well(seed, 3, flushes=True)
    old = master(group)
    old.volume.befall(Faults(lost_sync=1000))
    run(group, 4.0)
    is_led = is_led_on(group)
    old.restart_seconds = (0.3, 0.3)
    old.cut("with a disk that lied")
    until(group, is_led, ELECTED_SECONDS)
    assert not leads(old)
    old.restart_seconds = NEVER_RESTARTS
    run(group, LATER_SECONDS)
    must_have_everything(group)
