"""Scenes in which a group must do what histories ask for only when all is calm again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gantrymq.ha.election.election import UNCLEAN_SECONDS
from gantrymq.ha.lease.lease import DURATION_SECONDS
from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    NEVER_RESTARTS,
    WELL_SECONDS,
    follower,
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
from gantrymq.sim.group_mutations.log_scenes import LOG_SCENES
from gantrymq.sim.group_mutations.role_scenes import ROLE_SCENES
from gantrymq.sim.group_mutations.seat_scenes import SEAT_SCENES

TOUCH_SECONDS: Final = 1.0
LATER_SECONDS: Final = 10.0
# A sync counts as stuck after two seconds, and a hand-over is tried again every five.
YIELDED_SECONDS: Final = 12.0


def touch(group: Group) -> None:
    """Another program writes metadata of the Lease, each second from now on."""
    group.leases.touch()
    group.world.after(TOUCH_SECONDS, lambda: touch(group))


def successor_while_touched(seed: int) -> None:
    """The Lease is touched every second, and the master ends."""
    group = well(seed, 3)
    touch(group)
    run(group, 3.0)
    _successor(group)


def successor_with_a_typo(seed: int) -> None:
    """A request of the operator cannot be read, and the master stops."""
    group = well(seed, 3)
    group.leases.annotate("an operator", {"preferred": "broker-2"})
    run(group, 2.0)
    _successor(group)


def _successor(group: Group) -> None:
    is_led = is_led_on(group)
    kill_for_good(master(group))
    until(group, is_led, ELECTED_SECONDS)
    must_have_everything(group)


def allowed_loss(seed: int) -> None:
    """Both machines of two lose their power, one of them forever, and an operator allows a
    loss."""
    group = well(seed, 2)
    run(group, 3.0)
    old, node, is_led = master(group), follower(group), is_led_on(group)
    old.restart_seconds, node.restart_seconds = NEVER_RESTARTS, (1.0, 1.0)
    for each in (old, node):
        each.cut("with all others")
    group.leases.change_requests(
        lambda operator_requests: replace(operator_requests, allows_unclean=True)
    )
    until(group, is_led, 1.0 + DURATION_SECONDS + UNCLEAN_SECONDS + ELECTED_SECONDS)


def copy_restored_over_all(seed: int) -> None:
    """A copy of the Lease names the master alone. Its machine loses its power, and all others start
    anew before it does: what they know of the Lease is on their disks."""
    group = well(seed, 3)
    old = master(group)
    others = [node for node in group.nodes.values() if node is not old]
    for node in others:
        node.restart_seconds = (5.0, 5.0)
        node.kill()
    run(group, 4.0)
    saved = group.leases.past[-1]
    until(group, lambda: is_whole(group), WELL_SECONDS)
    run(group, 4.0)
    is_led = is_led_on(group)
    group.leases.restore(saved)
    for node in others:
        node.restart_seconds = (0.5, 0.5)
        node.kill()
    old.restart_seconds = (0.5, 0.5)
    old.cut()
    until(group, is_led, WELL_SECONDS)
    run(group, LATER_SECONDS)
    must_have_everything(group)


def stuck_disk(seed: int) -> None:
    """The master's disk does not answer any more: another member leads."""
    group = well(seed, 3, flushes=True)
    old, is_led = master(group), is_led_on(group)
    old.pace.is_stuck = True
    until(group, is_led, YIELDED_SECONDS)
    assert not leads(old)


SCENES: Final[Mapping[str, Callable[[int], None]]] = {
    **LOG_SCENES,
    **ROLE_SCENES,
    **SEAT_SCENES,
    "successor while touched": successor_while_touched,
    "successor with a typo": successor_with_a_typo,
    "allowed loss": allowed_loss,
    "copy restored over all": copy_restored_over_all,
    "stuck disk": stuck_disk,
}
