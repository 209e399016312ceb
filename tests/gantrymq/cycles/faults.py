"""What is done to a group, and how it is mended: entering one strikes, leaving it mends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gantrymq.cycles.group import CycleGroup

SWITCH_SECONDS: Final = 10.0


class Kind(Enum):
    """The values are what tables call them."""

    MASTER_KILLED = "kill -9 of the master"
    POD_KILLED = "kill -9 of master and guard"
    FOLLOWER_KILLED = "kill -9 of a follower"
    MASTER_STOPPED = "SIGSTOP of the master"
    MASTER_CUT = "master cut off"
    FOLLOWER_CUT = "follower cut off"
    PEERS_PARTED = "master and follower parted"
    MASTER_MUTED = "a follower does not hear the master"
    LEASE_CUT = "lease cut off from all"
    LEASE_PARTED = "lease cut off from the master"
    MASTER_FULL = "full disk of the master"
    MASTER_TERMINATED = "SIGTERM of the master"
    SWITCHED = "switchover"


@contextmanager
def master_killed(group: CycleGroup) -> Iterator[None]:
    master = group.master
    master.kill()
    master.wait()
    yield
    master.start()


@contextmanager
def pod_killed(group: CycleGroup) -> Iterator[None]:
    """The guard dies with it, so the lease has to run out."""
    master = group.master
    master.kill_all()
    yield
    master.start()


@contextmanager
def follower_killed(group: CycleGroup) -> Iterator[None]:
    follower = group.followers[0]
    follower.kill_all()
    yield
    follower.start()


@contextmanager
def master_stopped(group: CycleGroup) -> Iterator[None]:
    master = group.master
    master.signal(signal.SIGSTOP)
    yield
    master.signal(signal.SIGCONT)


@contextmanager
def master_cut(group: CycleGroup) -> Iterator[None]:
    master, network = group.master, group.hosts.network
    network.cut(master.host)
    yield
    network.join(master.host)


@contextmanager
def follower_cut(group: CycleGroup) -> Iterator[None]:
    follower, network = group.followers[-1], group.hosts.network
    network.cut(follower.host)
    yield
    network.join(follower.host)


@contextmanager
def peers_parted(group: CycleGroup) -> Iterator[None]:
    master, follower, network = group.master, group.followers[0], group.hosts.network
    network.part(master.host, follower.host)
    yield
    network.unite()


@contextmanager
def master_muted(group: CycleGroup) -> Iterator[None]:
    master, follower, network = group.master, group.followers[-1], group.hosts.network
    network.mute(master.host, follower.host)
    yield
    network.unmute(master.host, follower.host)


@contextmanager
def lease_cut(group: CycleGroup) -> Iterator[None]:
    hosts = group.hosts
    hosts.network.cut(hosts.lease)
    yield
    hosts.network.join(hosts.lease)


@contextmanager
def lease_parted(group: CycleGroup) -> Iterator[None]:
    master, hosts = group.master, group.hosts
    hosts.network.part(master.host, hosts.lease)
    yield
    hosts.network.unite()


@contextmanager
def master_full(group: CycleGroup) -> Iterator[None]:
    disk = group.master.disk
    disk.fill()
    yield
    disk.free()


@contextmanager
def master_terminated(group: CycleGroup) -> Iterator[None]:
    master = group.master
    master.terminate()
    yield
    master.start()


@contextmanager
def switched(group: CycleGroup) -> Iterator[None]:
    old, heir = group.master.number, group.followers[0].number
    group.switch_to(heir)
    group.seconds_until_moved(old, time.monotonic(), SWITCH_SECONDS)
    yield


@dataclass(frozen=True, slots=True)
class Fault:
    """How it is done, and for how long it lasts: the first of these, or one that is drawn."""

    act: Callable[[CycleGroup], AbstractContextManager[None]]
    holds_seconds: tuple[float, ...]
    moves_role: bool = False


FAULTS: Final[Mapping[Kind, Fault]] = {
    Kind.MASTER_KILLED: Fault(master_killed, (4.0, 8.0), moves_role=True),
    Kind.POD_KILLED: Fault(pod_killed, (8.0,), moves_role=True),
    Kind.FOLLOWER_KILLED: Fault(follower_killed, (4.0, 8.0)),
    Kind.MASTER_STOPPED: Fault(master_stopped, (6.0,), moves_role=True),
    Kind.MASTER_CUT: Fault(master_cut, (8.0, 20.0, 40.0), moves_role=True),
    Kind.FOLLOWER_CUT: Fault(follower_cut, (6.0, 12.0)),
    Kind.PEERS_PARTED: Fault(peers_parted, (6.0, 12.0)),
    Kind.MASTER_MUTED: Fault(master_muted, (6.0, 12.0)),
    Kind.LEASE_CUT: Fault(lease_cut, (6.0, 12.0)),
    Kind.LEASE_PARTED: Fault(lease_parted, (6.0, 12.0)),
    Kind.MASTER_FULL: Fault(master_full, (10.0,), moves_role=True),
    Kind.MASTER_TERMINATED: Fault(master_terminated, (1.0,), moves_role=True),
    Kind.SWITCHED: Fault(switched, (1.0,), moves_role=True),
}
