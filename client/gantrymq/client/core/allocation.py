"""Which queues of a topic are whose: every member of a group works it out alone, from equal lists.

    average            blocks, the first members have one more       AllocateMessageQueueAveragely
    average_by_circle  every m-th queue                     AllocateMessageQueueAveragelyByCircle
    ConsistentHash     a ring: few queues move when a member comes   …ByConsistentHash
    MachineRoom        only queues of named rooms ("room@broker")    …ByMachineRoom
    NearMachineRoom    each room its own, what is left over shared   AllocateMachineRoomNearby
    Configured         these                                         …ByConfig

Invariant: for equal lists Java's strategy of that kind gives the same queues, so its members and
ours share one group without overlap or gap. All members of a group must use the same strategy.
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
"""The share of this client id, of these queues, among these ids; both lists are in order."""

VIRTUAL_NODES: Final = 10

T = TypeVar("T")


def in_order(client_ids: Iterable[str]) -> list[str]:
    """As Java sorts strings: by their UTF-16 units."""
    return sorted(client_ids, key=lambda each: each.encode("utf-16-be", "surrogatepass"))


def average(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """Neighbouring queues; shares differ by one at most."""
    if client_id not in client_ids:
        return []
    index = client_ids.index(client_id)
    size, more = divmod(len(queues), len(client_ids))
    start = index * size + min(index, more)
    return list(queues[start : start + size + (index < more)])


def average_by_circle(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    """Queues dealt like cards."""
    if client_id not in client_ids:
        return []
    return list(queues[client_ids.index(client_id) :: len(client_ids)])


@final
@dataclass(frozen=True, slots=True)
class ConsistentHash:
    """A queue is the next member's on a ring on which every member stands several times."""

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
    """Queues whose broker is called "<room>@<name>" with one of these rooms; others are nobody's
    here."""

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
    """Each room's queues go to its own members; those of rooms without members to all."""

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
    """These queues, whatever others take."""

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
    """By Java's name: AVG, AVG_BY_CIRCLE, CONSISTENT_HASH, MACHINE_ROOM:room1,room2. Raises
    ValueError for others: those need functions or queues, and are given as objects."""
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
