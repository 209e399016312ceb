"""Connections of processes that end: what those hear of it that were asked something."""

from __future__ import annotations

import pytest

from gantrymq.sim.group.group_scenes import (
    NEVER_RESTARTS,
    WELL_SECONDS,
    follower,
    kill_for_good,
    run,
    until,
    well,
)
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.nodes.group_network import Weather
from gantrymq.sim.nodes.group_node import Node, address

POLLED_SECONDS = 10.0
"""Every client has asked for the route in it."""


def is_routed_to(group: Group, node: Node) -> bool:
    """Whether a client goes by a route with this member."""
    clients = [*group.producers, *group.consumers]
    return any(address(node.number) in each.addresses.values() for each in clients)


def with_a_follower_in_the_route() -> tuple[Group, Node]:
    group = well(0, 2)
    node = follower(group)
    until(group, lambda: is_routed_to(group, node), WELL_SECONDS)
    return group, node


@pytest.mark.timeout(0)
@pytest.mark.parametrize("lost", [0.0, 1.0])
def test_name_servers_forget_a_follower_whose_process_was_killed(lost: float) -> None:
    """Also where nothing arrives just then: the kernel says it again."""
    group, node = with_a_follower_in_the_route()
    group.network.weather = Weather(lost=lost)
    kill_for_good(node)
    run(group, 1.0)
    group.network.weather = Weather()
    run(group, POLLED_SECONDS)
    assert not is_routed_to(group, node)


@pytest.mark.timeout(0)
def test_name_servers_hear_nothing_of_a_machine_without_power() -> None:
    group, node = with_a_follower_in_the_route()
    node.restart_seconds = NEVER_RESTARTS
    node.cut()
    run(group, POLLED_SECONDS)
    assert is_routed_to(group, node)
