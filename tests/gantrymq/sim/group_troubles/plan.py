"""The plan of one history: rates of what befalls a group, drawn from the seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, final

from gantrymq.sim.group.group_world import DRIFT_MAX
from gantrymq.sim.nodes.group_network import Weather


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """How large the group of one history is, and what happens to it how often."""

    members: int
    flushes: bool
    drift: float
    pause_between: float
    """Seconds between two troubles, on average."""
    weights: Mapping[str, float]
    """How often which trouble; some do not happen at all in a history, or none does."""
    weather: Weather
    lost_answers: float
    stalls: float
    waits: bool
    """Whether messages wait for members."""
    min_in_sync: int
    renews: bool = False
    """Whether topics are deleted and made again."""


def plan_of(random: Random, troubles: Collection[str]) -> Plan:
    """Drawn from the seed, with some of these troubles."""
    kinds = sorted(troubles)
    weights = {kind: random.random() ** 2 if random.random() < 0.6 else 0.0 for kind in kinds}
    weights[random.choice(kinds)] += 1.0
    if random.random() < 0.85:
        weights["allow loss"] = 0.0
    weather = Weather(
        lost=random.choice([0.0, 0.0, 0.005, 0.05]),
        twice=random.choice([0.0, 0.01, 0.1]),
        slow=random.choice([0.0, 0.01, 0.1]),
        slow_seconds=random.choice([0.02, 0.3, 1.5]),
        torn=random.choice([0.0, 0.2, 0.8]),
        latency=random.choice([0.0002, 0.001, 0.01]),
    )
    return Plan(
        members=random.choice([2, 3, 3, 3, 3, 3, 4, 5]),
        flushes=random.random() < 0.5,
        drift=random.choice([0.0, 0.001, DRIFT_MAX]),
        pause_between=random.choice([1.0, 2.0, 4.0, 8.0]),
        weights=weights,
        weather=weather,
        lost_answers=random.choice([0.0, 0.01, 0.2]),
        stalls=random.choice([0.0, 0.0, 0.001, 0.01]),
        waits=random.random() < 0.9,
        min_in_sync=random.choice([1, 2, 2]),
    )


CALM: Final[Mapping[str, object]] = {"weather": Weather(), "lost_answers": 0.0, "stalls": 0.0}
"""The scene of a plan that has only its own troubles."""
