"""Tracks in-flight messages: popped by a consumer, invisible to others, and not acknowledged yet.

    taken -> acknowledged
          -> kept invisible for longer, under a new handle
          -> due: returned for the retry topic -> dropped once the retry copy is on disk

The state of a queue is kept while it has in-flight messages; otherwise the group's stored offset is
sufficient. The file config/popCheckouts.json:

    {"checkouts":{"topic@group":{queueId:{"popTime dueTime":[offset,...]}}}}

Invariants. A message is in flight at most once. `take_due` returns a due message once, and the
message stays in flight until it is dropped. Entries of the file at or after the stored offset are
ignored: those messages are popped again. An acknowledged message costs nothing later, since due
times are kept in slots of one second each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, int_key, list_of, long_of, object_of, text_key

Place: TypeAlias = tuple[str, str, int]
"""A group, a topic and a queue id."""

# 300 bytes of memory each, 15 of file. Java holds as many checkpoints in memory.
IN_FLIGHT_MAX: Final = 200_000

# The limit of one group, so that a group that acknowledges nothing leaves room for the others.
GROUP_IN_FLIGHT_MAX: Final = 50_000

NEVER_MS: Final = 1 << 62

_SLOT_MS: Final = 1000
_SEPARATOR: Final = "@"


@final
class InFlightMessage:
    """One in-flight message."""

    __slots__ = ("due_ms", "is_due", "offset", "place", "pop_ms")

    def __init__(self, place: Place, offset: int, pop_ms: int, due_ms: int) -> None:
        self.place: Place = place
        self.offset: int = offset
        self.pop_ms: int = pop_ms
        self.due_ms: int = due_ms
        self.is_due: bool = False
        """Whether `take_due` returned it: it can no longer be acknowledged."""


@final
class _Queue:
    """A queue with in-flight messages; `next` is the offset at which the next pop begins."""

    __slots__ = ("next", "out")

    def __init__(self) -> None:
        self.next: int = 0
        self.out: dict[int, InFlightMessage] = {}


@final
class InFlightMessages:
    """The in-flight messages of one broker; owned by `Pops`."""

    __slots__ = ("_count", "_groups", "_queues", "_slot_times", "_slots")

    def __init__(self) -> None:
        self._queues: dict[Place, _Queue] = {}
        self._groups: dict[str, int] = {}
        self._count = 0
        self._slots: dict[int, dict[InFlightMessage, None]] = {}
        self._slot_times: list[int] = []

    def __len__(self) -> int:
        return self._count

    def room(self, group: str) -> int:
        """How many more messages the group may have in flight."""
        out = self._groups.get(group, 0)
        return max(0, min(GROUP_IN_FLIGHT_MAX - out, IN_FLIGHT_MAX - self._count))

    def has_group(self, group: str) -> bool:
        """Whether the group has messages in flight."""
        return group in self._groups

    def next(self, place: Place) -> int | None:
        """The offset at which the next pop begins; None when nothing is in flight."""
        queue = self._queues.get(place)
        return None if queue is None else queue.next

    def out_of(self, place: Place) -> tuple[int, int] | None:
        """The number of in-flight messages of this queue, and the lowest of their offsets; None if
        there are none."""
        queue = self._queues.get(place)
        return None if queue is None or not queue.out else (len(queue.out), min(queue.out))

    def positions(self) -> list[tuple[Place, int]]:
        """The next offset of every queue with in-flight messages."""
        return [(place, queue.next) for place, queue in self._queues.items()]

    def lowest(self) -> list[tuple[Place, int]]:
        """The lowest in-flight offset of every queue with in-flight messages."""
        return [(place, min(queue.out)) for place, queue in self._queues.items() if queue.out]

    # ------------------------------------------------------------------ one message

    def take(
        self, place: Place, offsets: Sequence[int], next_offset: int, pop_ms: int, due_ms: int
    ) -> None:
        """Mark these messages as in flight; the next pop begins at `next_offset`."""
        queue = self._queues.setdefault(place, _Queue())
        for offset in offsets:
            self._add(queue, InFlightMessage(place, offset, pop_ms, due_ms))
        queue.next = next_offset

    def skip(self, place: Place, next_offset: int) -> bool:
        """Move the next pop to this offset. False when nothing is in flight, so that the caller may
        store it."""
        queue = self._queues.get(place)
        if queue is not None:
            queue.next = next_offset
        return queue is not None

    def find(self, place: Place, offset: int, pop_ms: int) -> InFlightMessage | None:
        """The message that this pop returned, if it is still in flight and not due."""
        queue = self._queues.get(place)
        message = None if queue is None else queue.out.get(offset)
        if message is None or message.is_due or message.pop_ms != pop_ms:
            return None
        return message

    def is_out(self, message: InFlightMessage) -> bool:
        """Whether this very message is in flight; a later pop may have the same offset in
        flight."""
        queue = self._queues.get(message.place)
        return queue is not None and queue.out.get(message.offset) is message

    def drop(self, message: InFlightMessage) -> int | None:
        """Drop a message. If it was its queue's last one, return the group's offset there, else
        None."""
        queue = self._queues.get(message.place)
        if queue is None or not self.is_out(message):
            return None  # the queue was reset meanwhile, or deleted
        del queue.out[message.offset]
        self._forget(message)
        if queue.out:
            return None
        del self._queues[message.place]
        return queue.next

    def keep_out(self, message: InFlightMessage, pop_ms: int, due_ms: int) -> None:
        """Keep the message invisible until `due_ms`, under a handle of `pop_ms`, if it is in
        flight."""
        if not self.is_out(message):
            return
        self._unplan(message)
        message.pop_ms, message.due_ms, message.is_due = pop_ms, due_ms, False
        self._plan(message)

    def move(self, place: Place, offset: int) -> bool:
        """Continue pops at this offset, and drop messages from it on, which are popped again.

        Returns whether the queue still has messages in flight.
        """
        queue = self._queues.get(place)
        if queue is None:
            return False
        for message in [each for at, each in queue.out.items() if at >= offset]:
            self.drop(message)
        queue.next = offset
        return place in self._queues

    def remove(self, group: str | None, topic: str | None) -> None:
        """Drop the in-flight messages of a group, or of a topic."""
        for place in list(self._queues):
            if group in (None, place[0]) and topic in (None, place[1]):
                for message in self._queues.pop(place).out.values():
                    self._forget(message)

    # ------------------------------------------------------------------ time

    def next_due_ms(self) -> int:
        """When the first slot ends; `NEVER_MS` if there is none."""
        while self._slot_times and self._slot_times[0] not in self._slots:
            heappop(self._slot_times)
        return (self._slot_times[0] + 1) * _SLOT_MS if self._slot_times else NEVER_MS

    def take_due(self, wall_ms: int, count: int) -> Sequence[InFlightMessage]:
        """Return due messages of one queue, by offset; empty if none is due."""
        if self.next_due_ms() > wall_ms:
            return ()
        slot = self._slots[self._slot_times[0]]
        place = next(iter(slot)).place
        due = [message for message in slot if message.place == place][:count]
        for message in due:
            self._unplan(message)
            message.is_due = True
        return sorted(due, key=lambda message: message.offset)

    def _plan(self, message: InFlightMessage) -> None:
        number = message.due_ms // _SLOT_MS
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = {}
            heappush(self._slot_times, number)
        slot[message] = None

    def _unplan(self, message: InFlightMessage) -> None:
        number = message.due_ms // _SLOT_MS
        slot = self._slots.get(number)
        if slot is not None:
            slot.pop(message, None)
            if not slot:
                del self._slots[number]

    def _add(self, queue: _Queue, message: InFlightMessage) -> None:
        group = message.place[0]
        queue.out[message.offset] = message
        self._count += 1
        self._groups[group] = self._groups.get(group, 0) + 1
        self._plan(message)

    def _forget(self, message: InFlightMessage) -> None:
        group = message.place[0]
        self._count -= 1
        self._groups[group] -= 1
        if not self._groups[group]:
            del self._groups[group]
        self._unplan(message)

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        """The content of the file."""
        places: dict[tuple[str, str], list[str]] = {}
        for (group, topic, queue_id), queue in self._queues.items():
            places.setdefault((topic, group), []).append(f"{queue_id}:{{{_pops_text(queue.out)}}}")
        members = [
            b"\n\t\t%b:{%b}"
            % (
                javajson.dumps_fastjson(f"{topic}{_SEPARATOR}{group}"),
                ",".join(queues).encode(),
            )
            for (topic, group), queues in places.items()
        ]
        return b'{\n\t"checkouts":{%b\n\t}\n}' % b",".join(members)

    def load(self, content: bytes) -> None:
        """Load the file at startup. Raises RemoteError for malformed content.

        The caller then calls `move` for each queue, with its stored offset.
        """
        size = len(content)
        value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
        bean = object_of(value, "popCheckouts.json")
        for key, queues in object_of(bean.get("checkouts") or {}, "checkouts").items():
            topic, _, group = text_key(key, "checkouts").partition(_SEPARATOR)
            for queue_id, pops in object_of(queues, "checkouts").items():
                self._load((group, topic, int_key(queue_id, "checkouts")), pops)

    def _load(self, place: Place, pops: Json) -> None:
        for key, offsets in object_of(pops, "checkouts").items():
            pop_ms, due_ms = _times(text_key(key, "checkouts"))
            numbers = [long_of(offset, "checkouts") for offset in list_of(offsets, "checkouts")]
            self.take(place, numbers, 0, pop_ms, due_ms)


def _pops_text(out: Mapping[int, InFlightMessage]) -> str:
    """The messages in the format of the file; those of one pop share their times."""
    pops: dict[tuple[int, int], list[str]] = {}
    for offset, message in out.items():
        pops.setdefault((message.pop_ms, message.due_ms), []).append(str(offset))
    return ",".join(
        [f'"{pop_ms} {due_ms}":[{",".join(offsets)}]' for (pop_ms, due_ms), offsets in pops.items()]
    )


def _times(key: str) -> tuple[int, int]:
    pop_ms, _, due_ms = key.partition(" ")
    if not pop_ms.isdecimal() or not due_ms.isdecimal() or len(key) > 40:
        raise RemoteError(f"checkouts: {key[:40]!r} is not two times")
    return int(pop_ms), int(due_ms)
