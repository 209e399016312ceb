"""Decides how long a run over all topics of a cluster waits for more changes.

A run reads the tables of all masters and compares all topics, whatever changed: 12 us of processor
time a topic. A run long after the one before begins at once. Runs in quick succession wait, so that
a stream of changes uses at most a quarter of a processor.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.kube.watch.object_store import Name

SECONDS_PER_TOPIC: Final = 50e-6
SECONDS_MAX: Final = 1.0
"""The longest wait, and the time after a run in which the next one has to wait."""


@final
class RunPacing:
    """Remembers when the last run of each cluster ended. Callers pass the time."""

    __slots__ = ("_ended_at",)

    def __init__(self) -> None:
        self._ended_at: dict[Name, float] = {}

    def pause(self, cluster: Name, topics: int, now: float) -> float:
        """Return the seconds that a run which could begin now has to wait."""
        ended_at = self._ended_at.get(cluster)
        if ended_at is None or now - ended_at >= SECONDS_MAX:
            return 0.0
        return min(SECONDS_MAX, topics * SECONDS_PER_TOPIC)

    def ended(self, cluster: Name, now: float) -> None:
        """Note that a run of the cluster ended."""
        self._ended_at[cluster] = now

    def forget(self, cluster: Name) -> None:
        """Forget a cluster that is gone, with its topics."""
        self._ended_at.pop(cluster, None)
