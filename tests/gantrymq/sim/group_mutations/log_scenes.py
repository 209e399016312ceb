"""Scenes in which a follower, a log or its epochs would lose what the group acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gantrymq.ha.disk import epoch_file
from gantrymq.sim.group.group_scenes import (
    WELL_SECONDS,
    cut,
    follower,
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
from gantrymq.sim.nodes.group_api import Latency
from gantrymq.sim.nodes.group_network import Weather

RUSH_SENDS_A_SECOND: Final = 1000.0
AWAY_SECONDS: Final = 8.0
MOMENT_SECONDS: Final = 0.2
PROCESS_DEAD_SECONDS: Final = (0.2, 0.3)
API_SECONDS: Final = 1.0
SLOW_SYNC_SECONDS: Final = 1.0


def follower_far_behind(seed: int) -> None:
    """A follower was away while the master acknowledged alone, and copies over a slow network. It
    joins the set once it has everything."""
    group = well(seed, 2)
    node = follower(group)
    node.restart_seconds = (AWAY_SECONDS, AWAY_SECONDS)
    node.kill()
    usual = group.habits.sends_a_second
    group.habits.sends_a_second = RUSH_SENDS_A_SECOND
    run(group, AWAY_SECONDS - MOMENT_SECONDS)
    group.habits.sends_a_second = usual
    group.network.weather = Weather(latency=0.1)
    until(group, lambda: is_whole(group), WELL_SECONDS)
    must_have_everything(group)


def follower_that_leaves_a_slow_disk(seed: int) -> None:
    """The follower leaves while the master's disk and the API are slow. The master's machine loses
    its power in the moment in which the follower is out of the set: what both had acknowledged is
    on the master's disk."""
    group = well(seed, 2)
    old, node = master(group), follower(group)
    old.pace.sync_seconds = SLOW_SYNC_SECONDS
    group.leases.api.latency = Latency(constant=API_SECONDS)
    group.habits.sends_a_second = RUSH_SENDS_A_SECOND / 10
    node.restart_seconds = (AWAY_SECONDS, AWAY_SECONDS)
    run(group, 2.0)
    node.stop()
    until(group, lambda: _set_of(group) == {old.number}, WELL_SECONDS)
    old.restart_seconds = PROCESS_DEAD_SECONDS
    old.cut()
    group.leases.api.latency = Latency()
    until(group, lambda: is_whole(group), 2 * WELL_SECONDS)


def _set_of(group: Group) -> frozenset[int]:
    lease = group.leases.lease
    return frozenset() if lease is None else lease.in_sync


def master_that_ends_as_it_begins(seed: int) -> None:
    """The first master ends with messages that the second one lacks. The second ends as soon as it
    has stored some of its own, and leads again. The first comes back, and follows it."""
    group = well(seed, 2)
    first, second = master(group), follower(group)
    group.habits.sends_a_second = RUSH_SENDS_A_SECOND / 10
    run(group, 4.0)
    heal = cut(group, first.number, {second.number})
    run(group, MOMENT_SECONDS)
    kill_for_good(first)
    heal()
    run(group, MOMENT_SECONDS)
    end = group.checks.mirror(second.number).end
    until(group, lambda: group.checks.mirror(second.number).end > end, WELL_SECONDS)
    second.restart_seconds = PROCESS_DEAD_SECONDS
    second.kill()
    until(group, lambda: leads(second), WELL_SECONDS)
    run(group, 1.0)
    first.restart_seconds = PROCESS_DEAD_SECONDS
    first.start()
    until(group, lambda: is_whole(group), WELL_SECONDS)
    run(group, 1.0)
    must_have_everything(group)


def epochs_lost_within_the_set(seed: int) -> None:
    """A member of the set starts without its file of epochs: its log has no known point in common
    with the master's, and is copied anew. Until it is out of the set it keeps what it has."""
    group = well(seed, 2, flushes=True)
    run(group, 2.0)
    node = follower(group)
    node.restart_seconds = PROCESS_DEAD_SECONDS
    node.kill()
    node.disk.remove(epoch_file.PATH)
    until(group, lambda: group.world.tally["truncations"] > 0, WELL_SECONDS)
    until(group, lambda: is_whole(group), 2 * WELL_SECONDS)
    must_have_everything(group)


LOG_SCENES: Final[Mapping[str, Callable[[int], None]]] = {
    "follower far behind": follower_far_behind,
    "follower that leaves a slow disk": follower_that_leaves_a_slow_disk,
    "master that ends as it begins": master_that_ends_as_it_begins,
    "epochs lost within the set": epochs_lost_within_the_set,
}
