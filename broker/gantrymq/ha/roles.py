"""What the broker does by its role, as its member sees it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol


class Roles(Protocol):
    """The broker's core."""

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        """We are master from now on."""

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        """Take nothing new, while what was taken is still acknowledged; or go on."""

    def follow(self, now: float, wall_ms: int) -> None:
        """We are not: nothing is appended from this call on but what a master sends."""

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        """Where the master takes requests; "" while nobody knows."""

    def tables(self) -> Mapping[str, bytes]:
        """All that travels with the log, by name."""

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        """The master's, which replaces ours."""

    @property
    def unstored_tables(self) -> AbstractSet[str]:
        """Of those that were taken, which are not on our disk yet."""

    @property
    def may_lead(self) -> bool:
        """Whether our tables are those that our log goes with."""
