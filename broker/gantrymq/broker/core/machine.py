"""What the small machines of a broker have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gantrymq.broker.core.messages import Channel


class Machine(Protocol):
    """Something that has to be done at times, whether a request comes or not."""

    def deadline(self) -> float:
        """When `expire` has something to do."""

    def expire(self, now: float) -> None:
        """Do what is due."""

    def closed(self, channel: Channel) -> None:
        """A connection ended."""


class Reader(Protocol):
    """A machine that does something with messages as they come."""

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        """Consumers find more in these queues than before; whether that was waited for."""
