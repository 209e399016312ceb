"""A Lease that people touch, edit, restore or delete: a group goes on, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    NEVER_RESTARTS,
    WELL_SECONDS,
    cut,
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
from gantrymq.sim.group.group_simulation import Group

SEEDS = range(2)
TOUCH_SECONDS = 1.0
LATER_SECONDS = 10.0


def touched(group: Group) -> None:
    """Another program writes metadata of it, each second from now on."""
    group.leases.touch()
    group.world.after(TOUCH_SECONDS, lambda: touched(group))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("members", [2, 3])
def test_lease_that_another_program_touches_keeps_no_dead_master_alive(
    seed: int, members: int
) -> None:
    group = well(seed, members)
    touched(group)
    run(group, 3.0)
    is_led = is_led_on(group)
    kill_for_good(master(group))
    until(group, is_led, ELECTED_SECONDS)
    run(group, LATER_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("preferred", "broker-2"),
        ("fenced", "one"),
        ("switch-to", "-1"),
        ("switch-number", "9" * 18),
        ("allow-unclean", "maybe"),
    ],
)
def test_a_typo_in_a_wish_keeps_no_group_without_a_master(seed: int, name: str, text: str) -> None:
    group = well(seed, 3)
    group.leases.annotate("an operator", {name: text})
    run(group, 2.0)
    is_led = is_led_on(group)
    kill_for_good(master(group))
    until(group, is_led, ELECTED_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("epoch", ["9" * 9, "9" * 18])
def test_an_epoch_that_was_edited_in_is_on_no_disk(seed: int, epoch: str) -> None:
    """A master at work writes its own again."""
    group = well(seed, 3)
    old = master(group)
    group.leases.edit({"epoch": epoch})
    run(group, 5.0)
    lease = group.leases.truth
    assert lease is not None
    assert (lease.epoch, lease.holder) == (group.checks.epoch, old.number)
    is_led, before = is_led_on(group), group.checks.epoch
    kill_for_good(old)
    until(group, is_led, ELECTED_SECONDS)
    assert group.checks.epoch == before + 1


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("members", [2, 3])
def test_an_epoch_that_a_new_disk_reads_first_keeps_its_member_from_no_later_master(
    seed: int, members: int
) -> None:
    """The member's disk knows no other Lease, and the master ends before it puts the edit right."""
    group = well(seed, members)
    old, node = master(group), follower(group)
    node.restart_seconds = NEVER_RESTARTS
    node.kill()
    until(group, lambda: node.number not in group.leases.past[-1].lease.in_sync, WELL_SECONDS)
    node.replace_disk()
    group.leases.edit({"epoch": "9" * 9})
    is_led = is_led_on(group)
    old.restart_seconds = (LATER_SECONDS, LATER_SECONDS)
    old.kill()
    until(group, is_led, LATER_SECONDS + WELL_SECONDS)
    until(group, lambda: is_whole(group), WELL_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_lease_that_was_deleted_is_made_anew_by_its_master(seed: int) -> None:
    group = well(seed, 3)
    old, is_led = master(group), is_led_on(group)
    group.leases.delete()
    until(group, lambda: group.leases.truth is not None, 3.0)
    run(group, LATER_SECONDS)
    assert leads(old)
    assert not is_led()
    assert is_whole(group)
    until(group, is_answered(group), 1.0)


def alone_since(group: Group) -> Callable[[], None]:
    """The Lease as it is while the master's set is only itself; the others come back then."""
    others = [node for node in group.nodes.values() if not leads(node)]
    for node in others:
        node.restart_seconds = (5.0, 5.0)
        node.kill()
    run(group, 4.0)
    saved = group.leases.past[-1]
    assert saved.lease.in_sync == {master(group).number}
    until(group, lambda: is_whole(group), WELL_SECONDS)
    return lambda: group.leases.restore(saved)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_of_this_epoch_elects_no_machine_that_has_lost_what_others_have(seed: int) -> None:
    """It names the master alone, whose machine loses its power just then; messages do not wait for
    disks, and the others have all of them."""
    group = well(seed, 3)
    restore = alone_since(group)
    run(group, 4.0)
    old, is_led = master(group), is_led_on(group)
    old.restart_seconds = (0.5, 0.5)
    restore()
    old.cut()
    until(group, is_led, WELL_SECONDS)
    run(group, LATER_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_of_this_epoch_is_put_right_by_a_master_at_work(seed: int) -> None:
    group = well(seed, 3)
    restore = alone_since(group)
    old, is_led = master(group), is_led_on(group)
    restore()
    run(group, 3.0)
    assert leads(old)
    assert not is_led()
    assert is_whole(group)
    assert follower(group).process is not None
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_master_at_work_replaces_the_lease_of_another_group(seed: int) -> None:
    """And is master again after a restart: the Lease is its group's."""
    group = well(seed, 3)
    old, lease = master(group), group.leases.truth
    assert lease is not None
    group.leases.exchange("ee" * 16)
    run(group, LATER_SECONDS)
    assert group.leases.truth is not None
    assert group.leases.truth.group == lease.group
    assert leads(old)
    assert is_whole(group)
    is_led = is_led_on(group)
    old.restart_seconds = (1.0, 1.0)
    old.kill()
    until(group, is_led, ELECTED_SECONDS)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_edited_addresses_keep_no_follower_away_once_its_link_was_cut(seed: int) -> None:
    group = well(seed, 3)
    old, node = master(group), follower(group)
    group.leases.edit({"ha-address": "10.0.0.250:10912", "address": "10.0.0.250:10911"})
    run(group, 3.0)
    assert group.leases.truth is not None
    assert "10.0.0.250" not in group.leases.truth.ha_address
    heal = cut(group, node.number, {old.number})
    run(group, 5.0)
    heal()
    until(group, lambda: is_whole(group), WELL_SECONDS)
    must_have_everything(group)
