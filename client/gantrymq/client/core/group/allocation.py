"""Divides the queues of a topic among a group's consumers; each computes its own share.

    average            consecutive queues, the first members get one more
                                                              AllocateMessageQueueAveragely
    average_by_circle  every m-th queue                       AllocateMessageQueueAveragelyByCircle
    ConsistentHash     a hash ring: few queues move on a change         …ByConsistentHash
    MachineRoom        only queues of given rooms ("room@broker")       …ByMachineRoom
    NearMachineRoom    members get queues of their own room; queues of rooms without members
                       are divided among all members          AllocateMachineRoomNearby
    Configured         a fixed list of queues                           …ByConfig

Invariant: for equal lists of queues and members, the Java strategy of the same kind gives the same
result. So Java and Gantry consumers share one group without overlap or gap. All members of a group
must use the same strategy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import md5
from typing import Final, TypeAlias, TypeVar, final

from gantrymq.client.core.errors import StateError
from gantrymq.wire.bodies.shared import MessageQueue

Allocate: TypeAlias = Callable[[str, list[MessageQueue], list[str]], list[MessageQueue]]
"""Returns the queues for a client id, given the topic's queues and the group's client ids, both
sorted."""

VIRTUAL_NODES: Final = 10

T = TypeVar("T")


def in_order(client_ids: Iterable[str]) -> list[str]:
    """Sort as Java sorts strings: by their UTF-16 units."""
    return sorted(client_ids, key=lambda each: each.encode("utf-16-be", "surrogatepass"))


def average(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """Assign consecutive queues; the sizes of the shares differ by at most one."""
    if client_id not in client_ids:
        return []
    index = client_ids.index(client_id)
    size, more = divmod(len(queues), len(client_ids))
    start = index * size + min(index, more)
    return list(queues[start : start + size + (index < more)])


def average_by_circle(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """Assign the queues in turn, one to each member at a time."""
    if client_id not in client_ids:
        return []
    return list(queues[client_ids.index(client_id) :: len(client_ids)])


@final
@dataclass(frozen=True, slots=True)
class ConsistentHash:
    """Assigns a queue to the next member on a hash ring, on which each member has several
    points."""

    virtual_nodes: int = VIRTUAL_NODES

    def __call__(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        ring = {
            _ring_hash(f"{each}-{number}"): each
            for each in client_ids
            for number in range(self.virtual_nodes)
        }
        places = sorted(ring)
        share = []
        for queue in queues:
            place = bisect_left(places, _ring_hash(_java_text(queue)))
            if ring[places[place % len(places)]] == client_id:
                share.append(queue)
        return share


@final
@dataclass(frozen=True, slots=True)
class MachineRoom:
    """Assigns only queues whose broker is named "<room>@<name>" with one of these rooms."""

    rooms: frozenset[str]

    def __call__(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        index = client_ids.index(client_id)
        near = [queue for queue in queues if self._is_near(queue)]
        size, more = divmod(len(near), len(client_ids))
        share = near[index * size : (index + 1) * size]
        if index < more:
            share.append(near[size * len(client_ids) + index])
        return share

    def _is_near(self, queue: MessageQueue) -> bool:
        room, _, name = queue.broker_name.partition("@")
        return room in self.rooms and bool(name) and "@" not in name


@final
@dataclass(frozen=True, slots=True)
class NearMachineRoom:
    """Assigns the queues of a room to the members there, or to all members if the room has none."""

    inner: Allocate
    room_of_queue: Callable[[MessageQueue], str]
    room_of_client: Callable[[str], str]

    def __call__(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        queues_of = _grouped(queues, self.room_of_queue)
        clients_of = _grouped(client_ids, self.room_of_client)
        own_room = self.room_of_client(client_id)
        own = queues_of.pop(own_room, [])
        share = self.inner(client_id, own, clients_of[own_room]) if own else []
        for room in sorted(queues_of):
            if room not in clients_of:
                share += self.inner(client_id, queues_of[room], list(client_ids))
        return share


@final
@dataclass(frozen=True, slots=True)
class Configured:
    """Assigns a fixed list of queues, independent of the other members."""

    queues: tuple[MessageQueue, ...]

    def __call__(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> list[MessageQueue]:
        del client_id, client_ids
        if not queues:
            return []
        topic = queues[0].topic
        return [queue for queue in self.queues if queue.topic == topic]


def strategy(name: str) -> Allocate:
    """Return the strategy with Java's name: AVG, AVG_BY_CIRCLE, CONSISTENT_HASH,
    MACHINE_ROOM:room1,room2. Raises ValueError for other names: the remaining strategies need
    functions or queues and are passed as objects."""
    kind, _, rooms = name.partition(":")
    if kind == "MACHINE_ROOM" and rooms:
        return MachineRoom(frozenset(room.strip() for room in rooms.split(",")))
    known: dict[str, Allocate] = {
        "AVG": average,
        "AVG_BY_CIRCLE": average_by_circle,
        "CONSISTENT_HASH": ConsistentHash(),
    }
    if name not in known:
        raise ValueError(
            f"no strategy is called so: there are {', '.join(known)}, MACHINE_ROOM:room1,room2;"
            " give NearMachineRoom and Configured by allocate=..."
        )
    return known[name]


def _grouped(things: Iterable[T], room_of: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for thing in things:
        room = room_of(thing)
        if not room:
            raise StateError(
                f"the machine room of {thing!r} is blank: the room functions of NearMachineRoom"
                " name one for each queue and each client"
            )
        groups.setdefault(room, []).append(thing)
    return groups


def _ring_hash(key: str) -> int:
    return int.from_bytes(md5(key.encode(), usedforsecurity=False).digest()[:4], "big")


def _java_text(queue: MessageQueue) -> str:
    return (
        f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name},"
        f" queueId={queue.queue_id}]"
    )
