"""Counts what topics, groups and offsets take of a broker's memory account, and limits it.

The sizes are computed from the lengths of the tables, so that they cannot drift from what is there,
and nothing is counted where a table changes. They are looked at whenever a client would have the
broker keep more, and once a second, for tables also become shorter, or are copied from a master.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.offsets import Offsets
from gantrymq.broker.core.tables.topics import Topics

LOOK_SECONDS: Final = 1.0

# Measured with names of 120 characters: the entry, its text for the file and what is kept of it
# beside the table.
TOPIC_BYTES: Final = 1_700
GROUP_BYTES: Final = 1_400
# The first offset of a group in a topic, and each further queue's.
PLACE_BYTES: Final = 900
OFFSET_BYTES: Final = 100


@final
class TableMemory:
    """The part of one broker's memory account for its tables, owned by the broker's `State`."""

    __slots__ = ("_groups", "_look_at", "_memory", "_offsets", "_topics")

    def __init__(
        self, memory: MemoryAccount, topics: Topics, groups: Groups, offsets: Offsets
    ) -> None:
        self._memory: MemoryAccount = memory
        self._topics: Topics = topics
        self._groups: Groups = groups
        self._offsets: Offsets = offsets
        self._look_at: float = 0.0

    def count(self) -> None:
        """Update the account to the current tables."""
        size = (
            len(self._topics) * TOPIC_BYTES
            + len(self._groups) * GROUP_BYTES
            + self._offsets.place_count * PLACE_BYTES
            + len(self._offsets) * OFFSET_BYTES
        )
        self._memory.set_table(Kind.TABLES, size)

    def obstacle(self, more: int) -> str | None:
        """Why the tables may not take so many bytes more, and what helps; None when they may."""
        if more <= 0:
            return None
        self.count()
        found = self._memory.overrun(None, Kind.TABLES, more)
        if found is None:
            return None
        return (
            f"{found.text}; delete some with mqadmin deleteTopic or deleteSubGroup -r true, or"
            " start the broker with a higher one"
        )

    def offset_obstacle(self) -> str | None:
        """Why no group may have an offset in a further queue, else None.

        Only the size of the tables counts: other memory of clients must not make a consumer lose
        its offset.
        """
        self.count()
        memory, more = self._memory, PLACE_BYTES + OFFSET_BYTES
        if memory.held_of(Kind.TABLES) + more <= memory.limit_of(Kind.TABLES):
            return None
        return self.obstacle(more)

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        if self._look_at <= now:
            self._look_at = now + LOOK_SECONDS
            self.count()

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""
