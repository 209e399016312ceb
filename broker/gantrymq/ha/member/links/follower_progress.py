"""Tracks what a follower has received, stored and promised on its current link to the master."""

from __future__ import annotations

from collections import deque
from typing import final

from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.member_frames import Heartbeat
from gantrymq.ha.roles import Roles
from gantrymq.store.engine import Store


@final
class FollowerProgress:
    """The progress of one follower; the outgoing links own it, and clear it when the link to the
    master ends: it does not apply to another link."""

    __slots__ = (
        "_goal",
        "_replica_state",
        "_roles",
        "_store",
        "_unconfirmed_tables",
        "promised",
        "stored",
    )

    def __init__(self, store: Store, replica_state: ReplicaState, roles: Roles) -> None:
        self._goal: int | None = None
        """The end of the master's log in its first heartbeat on this link: once this member's log
        reaches it, it has what was acknowledged without it."""
        self._replica_state = replica_state
        self._roles = roles
        self._store = store
        self._unconfirmed_tables: deque[tuple[int, str]] = deque()
        """Received tables that are not known to be on this member's disk."""
        self.promised = 0
        """The last question of the master that this member answered with a promise."""
        self.stored = 0
        """The number up to which all tables are on this member's disk."""

    @property
    def behind_bytes(self) -> int:
        """How much is missing of the log that the master had when this link began."""
        return 0 if self._goal is None else max(0, self._goal - self._store.log.end)

    def clear(self) -> None:
        """Forget the link to the master."""
        self._goal = None
        self.promised = self.stored = 0
        self._unconfirmed_tables.clear()

    def heard(self, heartbeat: Heartbeat) -> None:
        """Advance the safe position, and record when this member has caught up."""
        store, end = self._store, self._replica_state.sure_end
        store.safe = max(store.safe or 0, min(heartbeat.safe, end))
        if self._goal is None:
            self._goal = heartbeat.end
        if self._goal <= end == store.log.end:  # counted by the master from here on
            self._replica_state.caught_up()

    def received_table(self, number: int, name: str) -> None:
        """Record a table that the broker has received and not yet stored."""
        self._unconfirmed_tables.append((number, name))

    def note_stored(self) -> None:
        """Advance `stored` past the tables that are now on this member's disk."""
        unstored = self._roles.unstored_tables
        while self._unconfirmed_tables and self._unconfirmed_tables[0][1] not in unstored:
            self.stored, _ = self._unconfirmed_tables.popleft()
