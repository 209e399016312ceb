"""Two members with logs that are made up, for tests of what the checks say of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import final

from gantrymq.ha.lease.lease import Lease, LeaseAnswer
from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.checks.group_mirror import Mirror, Place, Stored
from gantrymq.sim.checks.group_rules import Rules
from gantrymq.sim.group.group_world import Life, World
from gantrymq.sim.group.group_world import Place as Node
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import Network

SIZE = 100


@final
@dataclass
class Broker:
    """The member that promises something."""

    number: int
    epoch: int = 0
    epoch_seen: int = 0
    epoch_copied: int = 0
    flushed: int = 0
    decided: Lease | None = None
    has_old_clock: bool = False
    volume: int = 0

    @property
    def key(self) -> int:
        return self.volume or self.number


@final
class Scene:
    """Two members in sync, of which the first leads."""

    def __init__(self, *, flushes: bool = True) -> None:
        self.world = World(1)
        network = Network(self.world, Random(1))
        self.leases = LeaseStore(self.world, network, Random(1))
        self.checks = Checks(
            self.world,
            self.leases,
            network,
            Rules(waits=True, flushes=flushes, least=2, file_bytes=1 << 20),
        )
        self.brokers = [Broker(1), Broker(2)]
        self.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2})))
        self.lead(0, 1)

    def write(self, lease: Lease) -> None:
        """A member reads what is there, and writes this."""
        place, life = Node(self.world, 1, "one", Random(1), 0.0), Life()
        self.leases.read(place, life, lambda answer: None)
        self.world.run(self.world.now + 2.0)
        version = "" if self.leases.lease is None else self.leases.lease.version
        named = (
            {"address": "10.0.0.1:10911", "ha_address": "10.0.0.1:10912"} if lease.holder else {}
        )
        self.leases.write(place, life, replace(lease, version=version, **named), _ignore)  # type: ignore[arg-type]  # of a lease's fields
        self.world.run(self.world.now + 2.0)

    def lead(self, index: int, epoch: int) -> None:
        self.brokers[index].epoch = epoch
        self.checks.leads(self.brokers[index], epoch)

    def log(self, number: int, *keys: bytes) -> None:
        """This is what a member's log is."""
        mirror, digest = Mirror(1 << 20), 0
        for index, key in enumerate(keys):
            digest = hash((digest, tuple(key)))
            place = Place(b"T", 0, index)
            mirror.records.append(Stored(index * SIZE, (index + 1) * SIZE, digest, key, place))
            mirror._ends.append((index + 1) * SIZE)
        self.checks.mirrors[number] = mirror

    def lose(self, number: int, *keys: bytes) -> None:
        """Its machine goes down, and this is what its disk still has."""
        before = self.checks.mirror(number).records
        self.log(number, *keys)
        self.checks.went_down(number, before[len(keys) :])

    def acknowledge(self, index: int, offset: int) -> None:
        """What was decided just now, unless it is said what the Lease said then."""
        broker = self.brokers[index]
        decided = broker.decided or self.checks.known_lease
        now = replace(broker, decided=decided)
        self.checks.acknowledged(now, offset * SIZE, 0, offset)

    def read(self, index: int, count: int) -> None:
        """A consumer gets the last of so many records."""
        head = SIZE.to_bytes(4, "big") + bytes(24) + ((count - 1) * SIZE).to_bytes(8, "big")
        self.checks.handed_out(self.brokers[index], head.ljust(SIZE, b"\0"))


def _ignore(answer: LeaseAnswer) -> None:
    """What was written is looked at in the store."""


def acknowledged_by_both(*, flushes: bool = False) -> Scene:
    """Three messages."""
    scene = Scene(flushes=flushes)
    scene.log(1, b"a", b"b", b"c")
    scene.log(2, b"a", b"b", b"c")
    scene.acknowledge(0, 2)
    return scene


def replaced(scene: Scene, number: int) -> None:
    """It has another disk, with nothing on it."""
    gone = scene.checks.mirror(number).records
    scene.log(number)
    scene.checks.lost_its_disk(number, gone)
