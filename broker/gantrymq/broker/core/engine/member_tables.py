"""Defines how a master waits until the other members of its group have stored its tables.

A change of topics, groups or accounts is acknowledged once every member that may become master has
it on its disk. Otherwise a failover could undo a change that an administrator was told is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, final


class Members(Protocol):
    """The members of one group, as its master sees them."""

    @property
    def epoch(self) -> int:
        """The highest epoch seen, by which name servers tell the newest master; 0 if roles are
        fixed."""

    def spread(self) -> int:
        """Send the current tables to all members soon. Returns a number for `lacking`."""

    def lacking(self, number: int) -> Sequence[str]:
        """The names of the members that may become master and have not stored those tables."""


@final
class _Alone:
    """Fixed roles: slaves copy the tables at their own interval, and no change waits for them."""

    @property
    def epoch(self) -> int:
        return 0

    def spread(self) -> int:
        return 0

    def lacking(self, number: int) -> Sequence[str]:
        return ()


ALONE: Final[Members] = _Alone()
