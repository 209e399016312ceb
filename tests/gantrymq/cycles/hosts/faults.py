"""What is done to a group, and how it is mended: entering one strikes, leaving it mends."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from gantrymq.cycles.group import CycleGroup

SWITCH_SECONDS: Final = 10.0
SLOW_SECONDS: Final = 1.0


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
    EMPTY_TWIN = "master replaced by an empty twin"
    FOREIGN_DISK = "disk of an older cluster"
    LEASE_TOUCHED = "kill -9, Lease touched each second"
    LEASE_SLOW = "kill -9, lease store takes a second"
    LEASE_RESTORED = "Lease of an earlier epoch restored"
    SLICE_DELETED = "EndpointSlice deleted"


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


@contextmanager
def empty_twin(group: CycleGroup) -> Iterator[None]:
    """The pod goes without a word, and its successor has a new disk."""
    master = group.master
    master.kill_all()
    master.lose_store()
    master.start()
    yield


@contextmanager
def foreign_disk(group: CycleGroup) -> Iterator[None]:
    follower = group.followers[0]
    follower.kill_all()
    follower.take_foreign_store()
    follower.start()
    yield
    follower.kill_all()
    follower.take_own_store()
    follower.start()


@contextmanager
def lease_touched(group: CycleGroup) -> Iterator[None]:
    """The guard dies as well: the lease has to run out."""
    is_over = threading.Event()

    def touch() -> None:
        count = 0
        while not is_over.wait(1.0):
            count += 1
            group.touch_lease(count)

    thread = threading.Thread(target=touch, daemon=True, name="touch")
    thread.start()
    try:
        with pod_killed(group):
            yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def lease_slow(group: CycleGroup) -> Iterator[None]:
    group.slow_api(SLOW_SECONDS)
    try:
        with pod_killed(group):
            yield
    finally:
        group.slow_api(0.0)


@contextmanager
def lease_restored(group: CycleGroup) -> Iterator[None]:
    saved = group.lease()
    with switched(group):
        group.restore_lease(saved)
        yield


@contextmanager
def slice_deleted(group: CycleGroup) -> Iterator[None]:
    group.delete_slice()
    yield
    assert group.has_slice, "the master keeps it right"


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
    Kind.EMPTY_TWIN: Fault(empty_twin, (8.0,), moves_role=True),
    Kind.FOREIGN_DISK: Fault(foreign_disk, (8.0,)),
    Kind.LEASE_TOUCHED: Fault(lease_touched, (8.0,), moves_role=True),
    Kind.LEASE_SLOW: Fault(lease_slow, (12.0,), moves_role=True),
    Kind.LEASE_RESTORED: Fault(lease_restored, (4.0,), moves_role=True),
    Kind.SLICE_DELETED: Fault(slice_deleted, (4.0,)),
}
