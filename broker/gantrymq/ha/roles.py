"""Defines the interface by which a group member tells its broker to act as master or as slave."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol


class Roles(Protocol):
    """Implemented by the broker's core."""

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        """Become master of this epoch."""

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        """Reject new requests, but still acknowledge those already accepted; or accept requests
        again."""

    def follow(self, now: float, wall_ms: int) -> None:
        """Stop being master: from this call on only a master's bytes are appended to the log."""

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        """Set the address at which the master accepts requests; "" while the master is unknown."""

    def tables(self) -> Mapping[str, bytes]:
        """The metadata tables that are replicated together with the log, by name."""

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        """Replace this broker's table by the master's."""

    @property
    def unstored_tables(self) -> AbstractSet[str]:
        """The names of received tables that are not yet on this broker's disk."""

    @property
    def may_lead(self) -> bool:
        """Whether this broker's tables match its log, so that it may become master."""
