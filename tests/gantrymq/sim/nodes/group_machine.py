"""What a broker's process finds on its machine, and its part that is a member of a group."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol, final

from gantrymq.sim.group.group_world import Place
from gantrymq.sim.nodes.group_volumes import Volume
from gantrymq.testing.memory_background import MemoryBackground


class Replica(Protocol):
    """The part of a process that is a member of its group."""

    lease_deadline: float
    """By the process's own clock, as the last turn left it."""

    @property
    def epoch_seen(self) -> int:
        """The highest."""

    @property
    def epoch_copied(self) -> int:
        """The latest that its log has a part of."""

    @property
    def epoch(self) -> int:
        """What name servers are told."""

    @property
    def is_released(self) -> bool:
        """Whether the process may end."""

    def release(self) -> None:
        """It is to end."""

    def turn(self, now: float, wall_ms: int) -> None:
        """Behind the core's; what it wants done is done when this returns."""

    def deadline(self, now: float) -> float: ...


@final
@dataclass(slots=True)
class Pace:
    """How fast this machine's disk is, and how often its process stands still."""

    sync_seconds: float = 0.002
    slow: float = 0.0
    """Share of its jobs that take up to `slow_seconds`."""
    slow_seconds: float = 0.5
    is_stuck: bool = False
    stalls: float = 0.0
    """Share of its turns that are interrupted before their answers leave."""
    stall_seconds: float = 8.0


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """What a process finds where it is started."""

    place: Place
    volume: Volume
    background: MemoryBackground
    pace: Pace
    random: Random
