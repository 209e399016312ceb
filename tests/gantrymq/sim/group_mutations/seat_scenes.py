"""Scenes of two machines that claim one seat of a new group from the first moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gantrymq.sim.group.group_history import drawn
from gantrymq.sim.group.group_scenes import STEP_SECONDS, leads, run
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.group_troubles.plan import CALM
from gantrymq.sim.nodes.group_api import Latency
from gantrymq.sim.nodes.group_node import Node

# Both read the Lease before either has written it.
_LATENCY: Final = Latency(0.1, 0.3)
_LOOKED_AT_SECONDS: Final = 8.0


def twins_of_a_new_group(seed: int) -> None:
    """Two machines in seat 1 seek the first epoch at once: one gets it, and only that one leads."""
    group = _new(seed)
    twin = group.twin(1)
    group.start()
    twin.start()
    machines = [*group.nodes.values(), twin]
    while group.world.now < _LOOKED_AT_SECONDS:
        run(group, STEP_SECONDS)
        must_lead_apart(machines)
    assert group.checks.epoch


def must_lead_apart(machines: list[Node]) -> None:
    """No epoch has two masters."""
    epochs = [node.process.epoch for node in machines if node.process is not None and leads(node)]
    shared = [epoch for epoch, masters in Counter(epochs).items() if masters > 1]
    assert not shared, f"two machines lead in epoch {shared}"


def _new(seed: int) -> Group:
    changes = {"members": 3, "flushes": False, "waits": True, "min_in_sync": 1}
    plan = replace(drawn(seed), weights={}, drift=0.0, **changes, **CALM)  # type: ignore[arg-type]  # of a plan's fields
    group = Group(seed, plan)
    group.leases.api.latency = _LATENCY
    for node in group.nodes.values():
        node.reaped = lambda node: None
    return group


SEAT_SCENES: Final[Mapping[str, Callable[[int], None]]] = {
    "twins of a new group": twins_of_a_new_group,
}
