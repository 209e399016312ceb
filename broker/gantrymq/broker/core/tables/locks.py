"""Keeps the queue locks of orderly consumers: which client of a group may consume a queue in order.

    unlocked -> held until LOCK_SECONDS after the owner's last request -> expired: any client may
                                                                          lock the queue

Invariant: a queue of a group has one owner at a time. A lock ends when its owner releases it or
when it expires, never because a connection closed: the owner may still process messages.

An elected master has its predecessor's locks as they were about a second before. For a while it
grants each queue to its known owner only, and queues without a known owner to no client: a client
that was granted such a queue in that second still consumes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias, final

from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import JsonObject, list_of, long_of, object_of, text_key, text_of

# As in RocketMQ. Clients renew locks every 20 s, and stop consuming after 30 s without an answer.
LOCK_SECONDS: Final = 60.0

# So many locks take 100 MB. Only existing queues and groups can be locked, but each group may lock
# each queue.
LOCKS_MAX: Final = 500_000

Lock: TypeAlias = tuple[str, float]
"""The owner's client id, and the time of its last request."""


@final
class Locks:
    """The queue locks of one broker, by group and then by queue."""

    __slots__ = ("_copied", "_count", "_freed", "_groups", "_owners_until", "_swept_at")

    def __init__(self) -> None:
        self._groups: dict[str, dict[MessageQueue, Lock]] = {}
        self._copied: bytes | None = None
        """The master's table, encoded, while this broker follows a master."""
        self._count = 0
        self._freed: set[tuple[str, MessageQueue]] = set()
        """Queues released before `_owners_until`, which other clients may lock. At most as many as
        were locked."""
        self._owners_until = 0.0
        """Until this time only the known owner of a queue may lock it, unless the owner released
        it."""
        self._swept_at = 0.0

    def __len__(self) -> int:
        return self._count

    def lock(
        self, group: str, queues: Collection[MessageQueue], client_id: str, now: float
    ) -> list[MessageQueue]:
        """Lock these queues for the client, or renew its locks. Returns the queues that it owns."""
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
        """Release the queues that the client owns."""
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
        """The client id of the queue's owner; None if the queue is not locked."""
        lock = self._groups.get(group, {}).get(queue)
        return None if lock is None or lock[1] + LOCK_SECONDS < now else lock[0]

    def is_orderly(self, group: str, now: float) -> bool:
        """Whether the group holds any lock, which means that its members consume in order."""
        locks = self._groups.get(group, {}).values()
        return any(asked_at + LOCK_SECONDS >= now for _, asked_at in locks)

    # ------------------------------------------------------------------ replication

    def table(self, now: float) -> bytes:
        """The owners of all queues, for the members of the group. Without times, so that renewals
        do not change the table."""
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
        """Keep the master's table. It is decoded when this broker becomes master."""
        self._copied = content

    def lead(self, now: float, seconds: float) -> None:
        """Keep the last master's owners for so many seconds, in which they renew their locks at
        this broker, the new master. RemoteError if its table is invalid: then no queue is granted
        in that time."""
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
        """Remove expired locks when the limit is reached, at most once in LOCK_SECONDS."""
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
