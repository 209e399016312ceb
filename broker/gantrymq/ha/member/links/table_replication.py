"""Numbers the changes of a master's tables, and tracks which followers have stored them.

The tables are the metadata of a broker that is replicated together with the log. A change of a
table is confirmed once all members that may become master have stored it. The tables with which an
epoch begins count as confirmed at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, final

from gantrymq.base.errors import LocalError
from gantrymq.ha.protocol.member_frames import TABLE_BYTES_MAX

# The interval between two comparisons of the tables that are replicated with the log.
TABLES_SECONDS: Final = 1.0


@final
class TableReplication:
    """The tables of one epoch; the incoming links own them."""

    __slots__ = ("_confirmed", "_stored", "_tables", "due_at", "last_number")

    def __init__(self, last_number: int, now: float) -> None:
        """`last_number`: of the last change in an earlier epoch."""
        self._confirmed: int | None = None
        """The highest number that was confirmed as stored by all in-sync members; None while the
        tables that existed when the epoch began have no number yet."""
        self._stored: dict[int, int] = {}
        """By member, the number up to which it has stored all tables."""
        self._tables: dict[str, tuple[int, bytes]] = {}
        """By name, the number of the last change and the content."""
        self.due_at = now
        """When `changes` has to be called next."""
        self.last_number = last_number

    def changes(self, content: Mapping[str, bytes], now: float) -> Iterator[tuple[int, str, bytes]]:
        """Number the tables that have changed. `content`: all tables that are replicated."""
        self.due_at = now + TABLES_SECONDS
        for name, data in content.items():
            known = self._tables.get(name)
            if known is not None and known[1] == data:
                continue
            if len(data) > TABLE_BYTES_MAX // 2:
                raise LocalError(f"the table {name} of {len(data)} bytes is too large to replicate")
            self.last_number += 1
            self._tables[name] = self.last_number, data
            yield self.last_number, name, data
        if self._confirmed is None:
            self._confirmed = self.last_number

    def current(self) -> Iterator[tuple[int, str, bytes]]:
        """All tables, for a follower that has just connected."""
        for name, (number, data) in self._tables.items():
            yield number, name, data

    def reported(self, member: int, missing: int | None) -> None:
        """Record the lowest number that the follower has not stored; None if it has stored all."""
        self._stored[member] = self.last_number if missing is None else missing - 1

    def has_confirmed(self, member: int) -> bool:
        """Whether the follower has stored all changes that were confirmed without it."""
        return self._confirmed is not None and self._stored[member] >= self._confirmed

    def confirm(self, number: int) -> None:
        """Record that all members that may become master have stored the tables up to here."""
        self._confirmed = max(number, self._confirmed or 0)

    def stored_by(self, members: AbstractSet[int]) -> int:
        """The number up to which all of these followers have stored all tables."""
        return min((self._stored.get(each, 0) for each in members), default=self.last_number)
