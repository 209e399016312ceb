"""Defines the amounts and durations for the measurements of whole brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.namesrv.servers import JAVA


@dataclass(frozen=True, slots=True)
class Crowd:
    """The clients, groups, topics and queues that one broker serves at once."""

    connections: int
    groups: int
    topics: int
    queues: int
    period_seconds: float  # clients and brokers repeat heartbeats and registrations every 30 s


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of a round, number of rounds, and sizes."""

    warm_up_seconds: float
    round_seconds: float
    rounds: int
    encodings: Sequence[str]
    latency_seconds: float
    backlog: int
    stored_bytes: int
    queues: int
    start_rounds: int
    crowd: Crowd

    def seconds_of(self, name: str, *, counts: bool) -> float:
        """The length of a round; Java's first round of a kind is longer, because the JVM compiles
        in it."""
        return self.warm_up_seconds if name == JAVA and not counts else self.round_seconds


FULL = Pace(
    warm_up_seconds=12.0,
    round_seconds=2.0,
    rounds=3,
    encodings=("JSON", "binary"),
    latency_seconds=3.0,
    backlog=300_000,
    stored_bytes=2 << 30,
    queues=10_000,
    start_rounds=3,
    crowd=Crowd(1_000, 2_000, 10_000, 50_000, 30.0),
)
QUICK = Pace(
    warm_up_seconds=3.0,
    round_seconds=1.0,
    rounds=2,
    encodings=("JSON",),
    latency_seconds=1.0,
    backlog=50_000,
    stored_bytes=128 << 20,
    queues=1_000,
    start_rounds=1,
    crowd=Crowd(500, 200, 2_000, 4_000, 5.0),
)
