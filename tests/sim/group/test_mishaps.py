"""Tests that a member leads again in bounded time after a mishap or two in a sound group.

Histories ask for that only when all troubles are over. Here one of them stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    STEP_SECONDS,
    WELL_SECONDS,
    Heal,
    cut,
    is_led_on,
    is_whole,
    kill_for_good,
    leads,
    master,
    run,
    until,
    well,
)
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.nodes.group_api import NUMBER as LEASES
from gantrymq.sim.nodes.group_api import Health
from gantrymq.sim.nodes.group_network import Weather
from gantrymq.sim.nodes.group_node import Node

SEEDS = range(3)
# A sync counts as stuck after two seconds, and a hand-over is tried again every five.
YIELDED_SECONDS = 12.0
LATER_SECONDS = 10.0

Mishap = Callable[[Group, Node], Heal]


# ---------------------------------------------------------------------- answers that are late


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("late_seconds", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("members", [2, 3])
def test_late_answers_burn_no_epochs(seed: int, members: int, late_seconds: float) -> None:
    """Others know what a seeker wrote before it does; the master of then continues."""
    group = well(seed, members)
    group.leases.api.health = Health.LATE
    group.leases.api.late_seconds = (late_seconds, late_seconds)
    run(group, 5.0)
    epoch, is_led = group.checks.epoch, is_led_on(group)
    old = master(group)
    kill_for_good(old)
    until(group, is_led, ELECTED_SECONDS)
    run(group, LATER_SECONDS)
    lease = group.leases.lease
    assert lease is not None
    assert (lease.epoch, group.checks.epoch) == (epoch + 1, epoch + 1)


# ---------------------------------------------------------------------- a disk that does not answer


def _nothing_else(group: Group, old: Node) -> Heal:
    return lambda: None


def _lease_store(group: Group, old: Node) -> Heal:
    group.leases.api.health = Health.REFUSED

    def heal() -> None:
        group.leases.api.health = Health.WELL

    return heal


def _followers(group: Group, old: Node) -> Heal:
    heal = cut(group, old.number, group.nodes.keys() - {old.number})
    group.network.break_some(1.0)
    return heal


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("gone", "since", "seconds"),
    [(_nothing_else, 0.0, 0.0), (_lease_store, 0.5, 2.0), (_followers, 1.9, 1.35)],
)
@pytest.mark.parametrize("members", [2, 3])
def test_whose_disk_is_stuck_leads_no_more(
    seed: int, members: int, gone: Mishap, since: float, seconds: float
) -> None:
    """Others can take what it cannot; that something else was gone for a moment is no matter once
    it is back."""
    group = well(seed, members, flushes=True)
    old, is_led = master(group), is_led_on(group)
    old.pace.is_stuck = True
    run(group, since)
    heal = gone(group, old)
    run(group, seconds)
    heal()
    until(group, is_led, YIELDED_SECONDS)
    assert master(group) is not old


# ---------------------------------------------------------------------- one that may not lead


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_fenced", [True, False])
def test_election_does_not_wait_for_an_equal_member_that_may_not_lead(
    seed: int, is_fenced: bool
) -> None:
    """The master is started anew, and the only other one is fenced, or does not reach the lease."""
    group = well(seed, 2)
    if master(group).number == 1:
        group.leases.change_requests(
            lambda operator_requests: replace(operator_requests, switch_to=2, number=1)
        )
        until(group, is_led_on(group), ELECTED_SECONDS)
    until(group, lambda: is_whole(group), WELL_SECONDS)
    old, is_led = master(group), is_led_on(group)
    if is_fenced:
        group.leases.fence(frozenset({1}))
    else:
        cut(group, 1, {LEASES})
    old.restart_seconds = (0.5, 0.5)
    old.kill()
    until(group, is_led, ELECTED_SECONDS)
    assert master(group) is old


# ---------------------------------------------------------------------- a lease that is only read


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("action", ["fence", "switch"])
def test_an_operator_moves_no_role_while_the_lease_is_only_read(seed: int, action: str) -> None:
    """No member could take it; once it can be written the role moves."""
    group = well(seed, 3)
    old, leases = master(group), group.leases
    other = min(group.nodes.keys() - {old.number})
    leases.api.health = Health.READ_ONLY
    run(group, 2.0)
    if action == "fence":
        leases.fence(frozenset({old.number}))
    else:
        leases.change_requests(
            lambda operator_requests: replace(
                operator_requests, switch_to=other, number=operator_requests.number + 1
            )
        )
    for _ in range(int(6.0 / STEP_SECONDS)):
        run(group, STEP_SECONDS)
        assert leads(old)
    leases.api.health = Health.WELL
    until(group, is_led_on(group), ELECTED_SECONDS)


# ---------------------------------------------------------------------- one that comes back


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("torn", [0.0, 1.0])
def test_member_that_returns_in_an_outage_ends_no_mastership(seed: int, torn: float) -> None:
    """The lease store is down: the master goes on by promises, and a member that was away and has
    everything is asked for one as well."""
    group = well(seed, 3)
    old, epoch = master(group), group.checks.epoch
    away = group.nodes[max(group.nodes.keys() - {old.number})]
    away.restart_seconds = (8.0, 8.0)
    away.kill()
    until(group, lambda: not is_whole(group), ELECTED_SECONDS)
    group.leases.api.health = Health.REFUSED
    group.network.weather = Weather(torn=torn, latency=0.005)
    until(group, lambda: away.process is not None, LATER_SECONDS)
    for _ in range(6):
        run(group, 2.0)
        group.network.break_some(0.5)
    assert master(group) is old
    assert group.checks.epoch == epoch
