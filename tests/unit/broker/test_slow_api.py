"""A group that elects its master by an API that is slow: real members, in virtual time.

Promised in docs/operations/groups.md: with a latency of L for each request, a living master goes
on, and a dead one is replaced after the 4 s of the Lease and four times L, and half a second more.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from gantrymq.fakes.groups.electing import STEP, Group
from gantrymq.fakes.groups.slow_api import SlowApi, production_timeout
from gantrymq.ha.lease.lease import DURATION_SECONDS
from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout

SLACK_SECONDS = 0.5
LONG_SECONDS = 90.0


def constant(latency: float) -> Callable[[], float]:
    return lambda: latency


def often_fast(seed: int) -> Callable[[], float]:
    """Half of the answers within 50 ms, one in a hundred after 2 s and up to 2.5 s."""
    random = Random(seed)

    def latency() -> float:
        part = random.random()
        if part < 0.99:
            return 0.05 + 0.5 * part**4
        return 2.0 + 0.5 * random.random()

    return latency


def group_with(
    latency: Callable[[], float], timeout: Callable[[], AdaptiveTimeout] = production_timeout
) -> Group:
    """All of its members know how slow the API is."""
    group = Group(1, 2, 3, min_in_sync=2)
    group.until("well")
    group.slow_api = SlowApi(group.lease, latency, timeout)
    group.run(10)
    return group


def seconds_without_master(group: Group, offset: float) -> float:
    """From the death of the master at this offset until another one leads."""
    group.run(offset)
    master = group.master
    assert master is not None, group.story()
    master.kill()
    died_at = group.now
    while group.master is None and group.now < died_at + LONG_SECONDS:
        group.run(STEP)
    return group.now - died_at


def must_lead_on(group: Group, seconds: float) -> None:
    """The same master may acknowledge at each moment."""
    master = group.master
    assert master is not None, group.story()
    until, epoch = group.now + seconds, master.member.epoch
    while group.now < until:
        group.run(STEP)
        assert master.member.epoch == epoch, group.story()
        assert master.member.lease_deadline(group.now) > group.now, group.story()


@pytest.mark.parametrize("latency", [0.02, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5])
def test_live_master_keeps_the_lease_with_a_slow_api(latency: float) -> None:
    must_lead_on(group_with(constant(latency)), 30)


@pytest.mark.parametrize("seed", range(5))
def test_live_master_keeps_the_lease_when_one_answer_in_a_hundred_is_late(seed: int) -> None:
    must_lead_on(group_with(often_fast(seed)), 120)


@pytest.mark.parametrize("latency", [0.02, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5])
@pytest.mark.parametrize("offset", [0.1, 0.9, 1.7, 2.3])
def test_a_dead_master_is_replaced_in_time(latency: float, offset: float) -> None:
    found = seconds_without_master(group_with(constant(latency)), offset)
    assert found <= DURATION_SECONDS + 4 * latency + SLACK_SECONDS


@pytest.mark.parametrize("seed", range(10))
def test_a_dead_master_is_replaced_where_one_answer_in_a_hundred_is_late(seed: int) -> None:
    found = seconds_without_master(group_with(often_fast(seed)), seed / 3)
    assert found <= DURATION_SECONDS + 4 * 1.0 + SLACK_SECONDS


@pytest.mark.parametrize("latency", [0.75, 1.0, 2.0])
def test_an_api_that_is_slow_from_the_death_on_costs_as_much_as_is_learned(latency: float) -> None:
    """Members find out by requests that fail after 0.7 s and 1.4 s, with a pause behind each."""
    group = group_with(constant(0.02))
    assert group.slow_api is not None
    group.slow_api.latency = constant(latency)
    found = seconds_without_master(group, 0)
    learned = 0.7 + 1.4 + 2 * 0.2
    assert found <= DURATION_SECONDS + 4 * latency + learned + SLACK_SECONDS


@pytest.mark.parametrize("latency", [0.75, 1.0])
def test_a_timeout_that_stays_below_the_latency_leaves_the_group_without_a_master(
    latency: float,
) -> None:
    """What the timeout has to adapt for."""
    group = group_with(constant(latency), lambda: AdaptiveTimeout(0.7, 0.7))
    assert seconds_without_master(group, 0.5) >= LONG_SECONDS


def test_a_request_that_hangs_costs_the_master_neither_its_lease_nor_its_authority() -> None:
    """By the Lease alone: the master is cut off from the members that could promise."""
    group = group_with(constant(0.02))
    master = group.master
    assert master is not None
    group.part(master.number)
    group.run(5)
    api = group.slow_api
    assert api is not None
    for _ in range(5):
        api.latency = constant(LONG_SECONDS)
        asked = api.requests
        while api.requests == asked:
            group.run(STEP)
        api.latency = constant(0.02)
        must_lead_on(group, 5)
