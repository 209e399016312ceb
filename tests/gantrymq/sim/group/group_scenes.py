"""Scenes of simulated groups: a group in which all is well, for tests that script what befalls it.

A scene goes on by `run` and `until`; the checks of histories look at it all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gantrymq.sim.group.group_history import drawn
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.group_troubles.plan import CALM
from gantrymq.sim.nodes.group_node import Node

STEP_SECONDS: Final = 0.05
NEVER_RESTARTS: Final = (1e6, 1e6)
"""How long a process stays down: so long that it is not started again."""

WELL_SECONDS: Final = 15.0
ELECTED_SECONDS: Final = 8.0
"""The lease's duration, the write that takes it, and its answer."""

Heal = Callable[[], None]


def well(seed: int, members: int, *, flushes: bool = False, min_in_sync: int = 1) -> Group:
    """A group that has a master, and all members in the set. No supervisor gives away the lease of
    a process that was killed."""
    changes = {"members": members, "flushes": flushes, "waits": True, "min_in_sync": min_in_sync}
    plan = replace(drawn(seed), weights={}, drift=0.0, **changes, **CALM)  # type: ignore[arg-type]  # of a plan's fields
    group = Group(seed, plan)
    for node in group.nodes.values():
        node.reaped = lambda node: None
    group.start()
    until(group, lambda: is_whole(group), WELL_SECONDS)
    return group


def is_whole(group: Group) -> bool:
    lease = group.leases.lease
    is_led = any(leads(node) for node in group.nodes.values())
    return is_led and lease is not None and lease.in_sync == group.nodes.keys()


def leads(node: Node) -> bool:
    return node.process is not None and node.process.epoch > 0


def master(group: Group) -> Node:
    """The only one."""
    (node,) = filter(leads, group.nodes.values())
    return node


def run(group: Group, seconds: float) -> None:
    group.world.run(group.world.now + seconds)


def until(group: Group, holds: Callable[[], bool], seconds: float) -> None:
    end = group.world.now + seconds
    while not holds():
        assert group.world.now < end, f"not within {seconds} s\n{group.world.story}"
        run(group, STEP_SECONDS)


def is_led_on(group: Group) -> Callable[[], bool]:
    """Whether a member leads a later epoch than that of this moment."""
    epoch = group.checks.epoch
    return lambda: group.checks.epoch > epoch


def cut(group: Group, number: int, others: set[int]) -> Heal:
    """Both ways between it and these."""
    ways = [way for each in others for way in ((number, each), (each, number))]
    for way in ways:
        group.network.cut(*way)

    def heal() -> None:
        for way in ways:
            group.network.heal(*way)

    return heal


def follower(group: Group) -> Node:
    """The last one of those that do not lead."""
    return [node for node in group.nodes.values() if not leads(node)][-1]


def kill_for_good(node: Node) -> None:
    node.restart_seconds = NEVER_RESTARTS
    node.kill()


def is_answered(group: Group) -> Callable[[], bool]:
    """Whether a producer was told SEND_OK since this moment."""
    count = group.world.tally["acknowledged"]
    return lambda: group.world.tally["acknowledged"] > count


def must_have_everything(group: Group) -> None:
    """All that producers were told is in the master's log; nothing was excused."""
    acknowledged: dict[bytes, int] = {}
    for producer in group.producers:
        acknowledged.update(producer.acknowledged)
    group.checks.whole(master(group).number, acknowledged)
    assert acknowledged
    assert not group.world.tally["excused losses"]
