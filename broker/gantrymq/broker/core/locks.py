"""Queue locks: which client of a group may consume a queue in order.

    unlocked -> held, LOCK_SECONDS since the owner last asked -> expired: anybody's

Invariant: a queue of a group has one owner at a time; a lock ends by its owner's word or by time,
never because a connection broke, as the owner may still be working on what it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias, final

from gantrymq.wire.bodies.shared import MessageQueue

# Java's number; clients ask again each 20 s, and stop consuming after 30 s without an answer.
LOCK_SECONDS: Final = 60.0

# 100 MB. Queues and groups that exist are locked, no others, but each group may lock each queue.
LOCKS_MAX: Final = 500_000

Lock: TypeAlias = tuple[str, float]
"""The owner's client id, and when it last asked."""


@final
class Locks:
    """By group, then by queue."""

    __slots__ = ("_count", "_groups", "_swept_at")

    def __init__(self) -> None:
        self._groups: dict[str, dict[MessageQueue, Lock]] = {}
        self._count = 0
        self._swept_at = 0.0

    def __len__(self) -> int:
        return self._count

    def lock(
        self, group: str, queues: Collection[MessageQueue], client_id: str, now: float
    ) -> list[MessageQueue]:
        """Which of these queues are the client's now."""
        self._make_room(len(queues), now)
        held = self._groups.setdefault(group, {})
        owned = []
        for queue in queues:
            known = held.get(queue)
            if known is None:
                if self._count >= LOCKS_MAX:
                    continue
                self._count += 1
            elif known[0] != client_id and known[1] + LOCK_SECONDS >= now:
                continue
            held[queue] = (client_id, now)
            owned.append(queue)
        if not held:
            del self._groups[group]
        return owned

    def unlock(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Those of the queues that are the client's are nobody's now."""
        held = self._groups.get(group)
        if held is None:
            return
        for queue in queues:
            known = held.get(queue)
            if known is not None and known[0] == client_id:
                del held[queue]
                self._count -= 1
        if not held:
            del self._groups[group]

    def owner(self, group: str, queue: MessageQueue, now: float) -> str | None:
        """The client whose queue it is."""
        lock = self._groups.get(group, {}).get(queue)
        return None if lock is None or lock[1] + LOCK_SECONDS < now else lock[0]

    def is_orderly(self, group: str, now: float) -> bool:
        """Whether the group holds any lock: then its members consume in order."""
        locks = self._groups.get(group, {}).values()
        return any(asked_at + LOCK_SECONDS >= now for _, asked_at in locks)

    def _make_room(self, count: int, now: float) -> None:
        """Expired locks are thrown away when their room is needed, at most once a LOCK_SECONDS."""
        if self._count + count > LOCKS_MAX and self._swept_at + LOCK_SECONDS <= now:
            self._swept_at = now
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        for group, held in list(self._groups.items()):
            for queue, (_, asked_at) in list(held.items()):
                if asked_at + LOCK_SECONDS < now:
                    del held[queue]
                    self._count -= 1
            if not held:
                del self._groups[group]
