"""Tests members that never return: an operator that accepts a loss has a master again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.ha.election.election import UNCLEAN_SECONDS
from gantrymq.ha.lease.lease import DURATION_SECONDS
from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    NEVER_RESTARTS,
    follower,
    is_led_on,
    leads,
    master,
    run,
    until,
    well,
)
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.nodes.group_node import Node

SEEDS = range(2)
STARTED_SECONDS = 1.0
ALLOWED_SECONDS = STARTED_SECONDS + DURATION_SECONDS + UNCLEAN_SECONDS + ELECTED_SECONDS


def _without_power(group: Group, lost: Node) -> None:
    """Both machines of two lose it, and one of them does not come back."""
    lost.restart_seconds = NEVER_RESTARTS
    for node in group.nodes.values():
        if node is not lost:
            node.restart_seconds = (STARTED_SECONDS, STARTED_SECONDS)
        node.cut("with all others")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_lease_lost", [False, True])
def test_what_is_left_of_a_group_waits_for_an_operator_and_then_leads(
    seed: int, *, is_lease_lost: bool
) -> None:
    group = well(seed, 2)
    run(group, 3.0)
    old, node, is_led = master(group), follower(group), is_led_on(group)
    _without_power(group, old)
    if is_lease_lost:
        group.leases.delete()
    run(group, ALLOWED_SECONDS)
    assert not is_led()
    group.leases.change_requests(
        lambda operator_requests: replace(operator_requests, allows_unclean=True)
    )
    until(group, is_led, ALLOWED_SECONDS)
    assert leads(node)
    assert "acknowledged messages may be lost" in str(group.world.story)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("flushes", [True, False])
def test_a_group_that_lost_its_power_at_once_leads_on_by_itself(
    seed: int, *, flushes: bool
) -> None:
    """All machines come back: nothing that was to be on disks is lost, and no operator is asked."""
    group = well(seed, 3, flushes=flushes)
    run(group, 3.0)
    is_led = is_led_on(group)
    for node in group.nodes.values():
        node.restart_seconds = (STARTED_SECONDS, STARTED_SECONDS)
        node.cut("with all others")
    until(group, is_led, STARTED_SECONDS + DURATION_SECONDS + ELECTED_SECONDS)
    assert not (flushes and group.world.tally["excused losses"])


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_machine_that_was_suspended_promises_nothing_that_its_successor_lacks(seed: int) -> None:
    """Its clocks stood still: it cannot know that its time is over."""
    group = well(seed, 3)
    old, is_led = master(group), is_led_on(group)
    old.place.pause(12.0, stops_clocks=True)
    until(group, is_led, ELECTED_SECONDS)
    run(group, 12.0)
    assert not leads(old)
