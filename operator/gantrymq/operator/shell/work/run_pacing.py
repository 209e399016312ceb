"""Decides how long a run over all topics of a cluster waits for more changes.

A run reads the tables of all masters and looks at all topics, whatever changed: 12 us of processor
time a topic. A run long after the one before begins at once. Runs that follow one another wait, so
that a stream of changes keeps a quarter of a processor busy with that at most.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.kube.watch.object_store import Name

SECONDS_PER_TOPIC: Final = 50e-6
SECONDS_MAX: Final = 1.0
"""The longest wait, and how long after a run the next one counts as following it."""


@final
class RunPacing:
    """Remembers when the last run of each cluster ended; takes the time as a value."""

    __slots__ = ("_ended_at",)

    def __init__(self) -> None:
        self._ended_at: dict[Name, float] = {}

    def pause(self, cluster: Name, topics: int, now: float) -> float:
        """How many seconds a run that could begin now shall wait."""
        ended_at = self._ended_at.get(cluster)
        if ended_at is None or now - ended_at >= SECONDS_MAX:
            return 0.0
        return min(SECONDS_MAX, topics * SECONDS_PER_TOPIC)

    def ended(self, cluster: Name, now: float) -> None:
        """A run of the cluster ended."""
        self._ended_at[cluster] = now

    def forget(self, cluster: Name) -> None:
        """The cluster and its topics are gone."""
        self._ended_at.pop(cluster, None)
