"""What a master needs of the other members of its group: that they store its tables.

A change of topics, groups or accounts is answered once every member that may become master has it
on its disk; else a failover could take back what an administrator was told is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, final


class Members(Protocol):
    """Of one group, as its master sees them."""

    @property
    def epoch(self) -> int:
        """The highest that was seen, for name servers to know who is master; 0: roles are fixed."""

    def spread(self) -> int:
        """Have the tables stored by all, as they are now and soon: a number to ask by."""

    def lacking(self, number: int) -> Sequence[str]:
        """Who may become master and has not stored them, by name."""


@final
class _Alone:
    """Roles are fixed: whoever follows copies in its own time."""

    @property
    def epoch(self) -> int:
        return 0

    def spread(self) -> int:
        return 0

    def lacking(self, number: int) -> Sequence[str]:
        return ()


ALONE: Final[Members] = _Alone()
