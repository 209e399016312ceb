"""A Kubernetes API that is constantly slow: it may cost renewals, and never a successor.

Times are the product's own: how long it waits for an answer follows the API (adaptive_timeout.py).
"""

from __future__ import annotations

import pytest

from gantrymq.ha.lease.lease import DURATION_SECONDS
from gantrymq.sim.group.group_scenes import (
    is_answered,
    is_led_on,
    kill_for_good,
    leads,
    master,
    must_have_everything,
    run,
    until,
    well,
)
from gantrymq.sim.nodes.group_api import Latency

SEEDS = range(2)
LATER_SECONDS = 15.0


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("constant", "p99"), [(0.75, 0.75), (1.0, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("members", [2, 3])
def test_a_dead_master_has_a_successor(
    seed: int, members: int, constant: float, p99: float
) -> None:
    """A candidate reads the lease, waits for its duration, reads it again, and writes it; one
    answer may be late. A master that is alone may lose the lease by late answers, for as long."""
    group = well(seed, members)
    group.leases.api.latency = Latency(constant, p99)
    run(group, LATER_SECONDS)
    is_led = is_led_on(group)
    kill_for_good(master(group))
    bound = DURATION_SECONDS + 4 * constant + 2 * p99
    until(group, is_led, bound)
    run(group, LATER_SECONDS)
    until(group, lambda: any(map(leads, group.nodes.values())), bound)
    must_have_everything(group)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_group_keeps_its_master_and_is_answered(seed: int) -> None:
    group = well(seed, 3)
    old, is_led = master(group), is_led_on(group)
    group.leases.api.latency = Latency(constant=1.0, p99=2.0)
    for _ in range(10):
        until(group, is_answered(group), 1.0)
        run(group, 2.0)
    assert leads(old)
    assert not is_led()
