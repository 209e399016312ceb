"""A lease store that is down, while nothing else is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.sim.group.group_history import drawn
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.group_troubles.plan import CALM

SEEDS = 12


@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_healthy_group_keeps_its_master(seed: int) -> None:
    plan = replace(drawn(seed), weights={"lease outage": 1.0}, members=3, **CALM)  # type: ignore[arg-type]  # of a plan's fields
    group = Group(seed, plan)
    group.run()
    assert group.world.tally["trouble: lease outage"]
    assert group.world.tally["promotions"] == 1
