"""Defines the interfaces of the core's periodic services and arrival listeners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gantrymq.broker.core.messages import Channel


class PeriodicService(Protocol):
    """A service of the core that acts by itself at its deadline, without a request."""

    def deadline(self) -> float:
        """The time at which `expire` next has something to do."""

    def expire(self, now: float) -> None:
        """Do everything that is due."""

    def closed(self, channel: Channel) -> None:
        """A connection closed: drop the state kept for it."""


class ArrivalListener(Protocol):
    """A service that reacts to messages when they become readable."""

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        """Consumers can read more of these (topic, queue id) than before. Returns whether this
        service waited for that, so that its deadline may have changed."""
