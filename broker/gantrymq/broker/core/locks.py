"""Queue locks: which client of a group may consume a queue in order.

    unlocked -> held, LOCK_SECONDS since the owner last asked -> expired: anybody's

Invariant: a queue of a group has one owner at a time; a lock ends by its owner's word or by time,
never because a connection broke, as the owner may still be working on what it has.

A master that was elected has its predecessor's locks as they were a second ago. For a while it
gives each queue to the owner it knows of, and to nobody else: who got one in that second works on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias, final

from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import JsonObject, list_of, long_of, object_of, text_key, text_of

# Java's number; clients ask again each 20 s, and stop consuming after 30 s without an answer.
LOCK_SECONDS: Final = 60.0

# 100 MB. Queues and groups that exist are locked, no others, but each group may lock each queue.
LOCKS_MAX: Final = 500_000

Lock: TypeAlias = tuple[str, float]
"""The owner's client id, and when it last asked."""


@final
class Locks:
    """By group, then by queue."""

    __slots__ = ("_copied", "_count", "_freed", "_groups", "_owners_until", "_swept_at")

    def __init__(self) -> None:
        self._groups: dict[str, dict[MessageQueue, Lock]] = {}
        self._copied: bytes | None = None
        """The master's, while there is one that this broker follows."""
        self._count = 0
        self._freed: set[tuple[str, MessageQueue]] = set()
        """Given back before `_owners_until`: no more than their owners had."""
        self._owners_until = 0.0
        """Until then nobody gets a queue but its owner, unless that gave it back."""
        self._swept_at = 0.0

    def __len__(self) -> int:
        return self._count

    def lock(
        self, group: str, queues: Collection[MessageQueue], client_id: str, now: float
    ) -> list[MessageQueue]:
        """Which of these queues are the client's now."""
        self._make_room(len(queues), now)
        keeps = now < self._owners_until
        if self._owners_until and not keeps:
            self._owners_until = 0.0
            self._freed.clear()
        held = self._groups.setdefault(group, {})
        owned = []
        for queue in queues:
            known = held.get(queue)
            if known is None:
                if self._count >= LOCKS_MAX or (keeps and (group, queue) not in self._freed):
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
                if self._owners_until:
                    self._freed.add((group, queue))
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

    # ------------------------------------------------------------------ members

    def table(self, now: float) -> bytes:
        """Who has what, for members. How long is not said: it would be another table each time."""
        table: JsonObject = {
            group: [
                [queue.topic, queue.broker_name, queue.queue_id, client_id]
                for queue, (client_id, asked_at) in held.items()
                if asked_at + LOCK_SECONDS >= now
            ]
            for group, held in self._groups.items()
        }
        return javajson.dumps_fastjson(table)

    def take_table(self, content: bytes) -> None:
        """What the master has; it is read once it is needed."""
        self._copied = content

    def lead(self, now: float, seconds: float) -> None:
        """Whoever has a queue by the last master has it so long, and asks us meanwhile. RemoteError
        where it gave us no such table: then nobody gets a queue meanwhile."""
        self._owners_until = now + seconds
        self._freed.clear()
        copied, self._copied = self._copied, None
        if copied is None:
            return
        self._groups, self._count = {}, 0
        size = len(copied)
        table = javajson.loads(copied, size, values_max=size, dialect_values_max=size)
        for key, locks in object_of(table, "locks").items():
            held = self._groups.setdefault(text_key(key, "locks"), {})
            for lock in list_of(locks, "locks"):
                topic, broker_name, queue_id, client_id = list_of(lock, "locks")
                queue = MessageQueue(
                    text_of(topic, "locks"),
                    text_of(broker_name, "locks"),
                    long_of(queue_id, "locks"),
                )
                held[queue] = text_of(client_id, "locks"), now + seconds - LOCK_SECONDS
                self._count += 1

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
