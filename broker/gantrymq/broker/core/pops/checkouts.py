"""Which messages are out: popped by a consumer, invisible to the others, and not acknowledged yet.

    taken -> acknowledged
          -> kept out longer, under a new handle
          -> due: given to whoever puts it into the retry topic -> dropped once that is safe

What is known of a queue is kept as long as something of it is out; else the group's stored offset
says all there is to say. The file config/popCheckouts.json:

    {"checkouts":{"topic@group":{queueId:{"popTime dueTime":[offset,...]}}}}

Invariants. A message is out once. One that is due is given out by `take_due` once, and stays out
until it is dropped. Of what a file says only that counts which lies before the stored offset: all
else is popped again. An acknowledgement costs nothing later, for what is due lies in slots of a
second each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, int_key, list_of, long_of, object_of, text_key

Place: TypeAlias = tuple[str, str, int]
"""Group, topic and queue."""

# 300 bytes of memory each, 15 of file. As many checkpoints are what Java holds in memory.
CHECKOUTS_MAX: Final = 200_000

# One group that acknowledges nothing leaves room for the others.
GROUP_CHECKOUTS_MAX: Final = 50_000

NEVER_MS: Final = 1 << 62

_SLOT_MS: Final = 1000
_SEPARATOR: Final = "@"


@final
class Checkout:
    """One message that is out."""

    __slots__ = ("due_ms", "is_due", "offset", "place", "pop_ms")

    def __init__(self, place: Place, offset: int, pop_ms: int, due_ms: int) -> None:
        self.place: Place = place
        self.offset: int = offset
        self.pop_ms: int = pop_ms
        self.due_ms: int = due_ms
        self.is_due: bool = False
        """Whether it was given out as due: nobody can acknowledge it any more."""


@final
class _Queue:
    """One with messages that are out; `next` is where the next pop begins."""

    __slots__ = ("next", "out")

    def __init__(self) -> None:
        self.next: int = 0
        self.out: dict[int, Checkout] = {}


@final
class Checkouts:
    """Of one broker."""

    __slots__ = ("_count", "_groups", "_queues", "_slot_times", "_slots")

    def __init__(self) -> None:
        self._queues: dict[Place, _Queue] = {}
        self._groups: dict[str, int] = {}
        self._count = 0
        self._slots: dict[int, dict[Checkout, None]] = {}
        self._slot_times: list[int] = []

    def __len__(self) -> int:
        return self._count

    def room(self, group: str) -> int:
        """How many more the group may have out."""
        out = self._groups.get(group, 0)
        return max(0, min(GROUP_CHECKOUTS_MAX - out, CHECKOUTS_MAX - self._count))

    def has_group(self, group: str) -> bool:
        """Whether the group has any out."""
        return group in self._groups

    def next(self, place: Place) -> int | None:
        """Where the next pop begins; None when nothing is out."""
        queue = self._queues.get(place)
        return None if queue is None else queue.next

    def out_of(self, place: Place) -> tuple[int, int] | None:
        """The number of messages of this queue that are out, and the offset of the first of them;
        None if no message is out."""
        queue = self._queues.get(place)
        return None if queue is None or not queue.out else (len(queue.out), min(queue.out))

    def positions(self) -> list[tuple[Place, int]]:
        """The same of all queues of which something is out."""
        return [(place, queue.next) for place, queue in self._queues.items()]

    def lowest(self) -> list[tuple[Place, int]]:
        """The first message that is out, of all queues of which something is out."""
        return [(place, min(queue.out)) for place, queue in self._queues.items() if queue.out]

    # ------------------------------------------------------------------ what happens to one

    def take(
        self, place: Place, offsets: Sequence[int], next_offset: int, pop_ms: int, due_ms: int
    ) -> None:
        """These went out, and the next pop begins there."""
        queue = self._queues.setdefault(place, _Queue())
        for offset in offsets:
            self._add(queue, Checkout(place, offset, pop_ms, due_ms))
        queue.next = next_offset

    def skip(self, place: Place, next_offset: int) -> bool:
        """Nothing before is wanted; False when nothing is out, so that the offset may be stored."""
        queue = self._queues.get(place)
        if queue is not None:
            queue.next = next_offset
        return queue is not None

    def find(self, place: Place, offset: int, pop_ms: int) -> Checkout | None:
        """The one that this pop gave out, if it still is out and not due."""
        queue = self._queues.get(place)
        checkout = None if queue is None else queue.out.get(offset)
        if checkout is None or checkout.is_due or checkout.pop_ms != pop_ms:
            return None
        return checkout

    def is_out(self, checkout: Checkout) -> bool:
        """Whether it still is; another one may be, at the same offset."""
        queue = self._queues.get(checkout.place)
        return queue is not None and queue.out.get(checkout.offset) is checkout

    def drop(self, checkout: Checkout) -> int | None:
        """It is out no more; what the group's offset is now, when it was the last of its queue."""
        queue = self._queues.get(checkout.place)
        if queue is None or not self.is_out(checkout):
            return None  # the queue was moved meanwhile, or is gone
        del queue.out[checkout.offset]
        self._forget(checkout)
        if queue.out:
            return None
        del self._queues[checkout.place]
        return queue.next

    def keep_out(self, checkout: Checkout, pop_ms: int, due_ms: int) -> None:
        """Until then, under a handle of this pop time; nothing happens where it is not out."""
        if not self.is_out(checkout):
            return
        self._unplan(checkout)
        checkout.pop_ms, checkout.due_ms, checkout.is_due = pop_ms, due_ms, False
        self._plan(checkout)

    def move(self, place: Place, offset: int) -> bool:
        """Pops go on here, and what is out from here on is popped again; whether anything is out
        still."""
        queue = self._queues.get(place)
        if queue is None:
            return False
        for checkout in [each for at, each in queue.out.items() if at >= offset]:
            self.drop(checkout)
        queue.next = offset
        return place in self._queues

    def remove(self, group: str | None, topic: str | None) -> None:
        """All of a group, or of a topic: it is out no more."""
        for place in list(self._queues):
            if group in (None, place[0]) and topic in (None, place[1]):
                for checkout in self._queues.pop(place).out.values():
                    self._forget(checkout)

    # ------------------------------------------------------------------ time

    def next_due_ms(self) -> int:
        """When the first slot is over, `NEVER_MS` where there is none."""
        while self._slot_times and self._slot_times[0] not in self._slots:
            heappop(self._slot_times)
        return (self._slot_times[0] + 1) * _SLOT_MS if self._slot_times else NEVER_MS

    def take_due(self, wall_ms: int, count: int) -> Sequence[Checkout]:
        """Some of one queue that are due, by offset; nothing when none is."""
        if self.next_due_ms() > wall_ms:
            return ()
        slot = self._slots[self._slot_times[0]]
        place = next(iter(slot)).place
        due = [checkout for checkout in slot if checkout.place == place][:count]
        for checkout in due:
            self._unplan(checkout)
            checkout.is_due = True
        return sorted(due, key=lambda checkout: checkout.offset)

    def _plan(self, checkout: Checkout) -> None:
        number = checkout.due_ms // _SLOT_MS
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = {}
            heappush(self._slot_times, number)
        slot[checkout] = None

    def _unplan(self, checkout: Checkout) -> None:
        number = checkout.due_ms // _SLOT_MS
        slot = self._slots.get(number)
        if slot is not None:
            slot.pop(checkout, None)
            if not slot:
                del self._slots[number]

    def _add(self, queue: _Queue, checkout: Checkout) -> None:
        group = checkout.place[0]
        queue.out[checkout.offset] = checkout
        self._count += 1
        self._groups[group] = self._groups.get(group, 0) + 1
        self._plan(checkout)

    def _forget(self, checkout: Checkout) -> None:
        group = checkout.place[0]
        self._count -= 1
        self._groups[group] -= 1
        if not self._groups[group]:
            del self._groups[group]
        self._unplan(checkout)

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        """The file."""
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
        """What a start finds, to be followed by a `move` of each queue to its stored offset.
        RemoteError where it is no such file."""
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


def _pops_text(out: Mapping[int, Checkout]) -> str:
    """Messages that went out together have their times in common."""
    pops: dict[tuple[int, int], list[str]] = {}
    for offset, checkout in out.items():
        pops.setdefault((checkout.pop_ms, checkout.due_ms), []).append(str(offset))
    return ",".join(
        [f'"{pop_ms} {due_ms}":[{",".join(offsets)}]' for (pop_ms, due_ms), offsets in pops.items()]
    )


def _times(key: str) -> tuple[int, int]:
    pop_ms, _, due_ms = key.partition(" ")
    if not pop_ms.isdecimal() or not due_ms.isdecimal() or len(key) > 40:
        raise RemoteError(f"checkouts: {key[:40]!r} is not two times")
    return int(pop_ms), int(due_ms)
