"""Computes up to where a master may acknowledge, and up to where consumers may read.

With `waits`, the safe position is the one up to which all members have the log that may become
master. What they have in common, not a single report, completes the sends that wait. Without
`waits`, sends wait for no member, and consumers may read what is dispatched (and, with `flushes`,
flushed).

Invariants. The safe position never decreases within an epoch: what was acknowledged or read stays
safe. With `waits`, nothing is acknowledged below `min_in_sync`, whatever the members report; once
the Lease names a set that is too small, waiting sends are answered at once. A new master first lets
them wait for a moment: its set often contains only itself until the others have connected.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.protocol.member_frames import Report
from gantrymq.store.engine import Store

# After a promotion the other members look up the new master's name, connect, and return to the set
# with two writes of the Lease. Sends wait this long for that, within the 3 s timeout of a producer.
RETURN_SECONDS: Final = 2.0


@final
class SafePosition:
    """The acknowledged and the safe position of one epoch; the incoming links own them."""

    __slots__ = ("_in_sync", "_settings", "_store", "held", "returns_by", "safe")

    def __init__(
        self, store: Store, settings: LinkSettings, in_sync: InSyncReplicas, now: float
    ) -> None:
        """The log is safe up to the position that consumers can already read."""
        self._in_sync = in_sync
        self._settings = settings
        self._store = store
        self.safe: int = self._dispatched if store.safe is None else store.safe
        self.held = self.safe if settings.waits else 0
        """The position up to which all in-sync members have had the log."""
        self.returns_by = now + RETURN_SECONDS if settings.waits else NEVER
        """Until when sends wait for members to return to a set that is too small; NEVER: they are
        answered at once."""

    def expire(self, now: float) -> None:
        """Stop waiting for members to return once their time is over."""
        if now >= self.returns_by:
            self.returns_by = NEVER

    def update(self) -> None:
        """Compute both positions. With `waits`, the store gets them and answers the sends that
        wait."""
        settings, store = self._settings, self._store
        acknowledged = self._in_sync.acknowledged(Report(store.log.end, store.flushed))
        self.held = max(self.held, acknowledged)
        if not settings.waits:
            safe = min(self._dispatched, store.flushed) if settings.flushes else self._dispatched
            self.safe = max(self.safe, safe)
            store.safe = None
            return
        store.safe = self.safe = max(self.safe, acknowledged)
        missing = self._missing()
        if missing is None:
            store.waiters.missing = None
            store.waiters.replicated(acknowledged)
        elif self.returns_by < NEVER:
            store.waiters.missing = None
        elif len(self._in_sync.persisted) < settings.min_in_sync:
            store.waiters.miss(missing)
        else:  # the removal may fail, and the present set may still acknowledge
            store.waiters.missing = missing

    @property
    def _dispatched(self) -> int:
        """The position up to which queues and index include the log."""
        return self._store.log.end - self._store.dispatch_behind

    def _missing(self) -> str | None:
        """Why nothing is acknowledged now; None if enough members are in sync."""
        in_sync = self._in_sync
        if in_sync.size >= self._settings.min_in_sync:
            return None
        members = ", ".join(map(str, sorted(in_sync.trusted)))
        return (
            f"The message is stored, but too few members have it: in sync are {in_sync.size} "
            f"({members}), and minInSyncReplicas is {self._settings.min_in_sync}. A member that "
            "follows comes back by itself once it has all of the log; see mqadmin haStatus."
        )
