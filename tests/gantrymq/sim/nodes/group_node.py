"""A machine of a simulated group, and the broker's process that is started on it again and again.

    kill        the process alone: what it wrote is still there, and still not on disk
    cut         the machine loses its power: its disk keeps what was synced, and any of the rest
    fail        the process ends by itself: its disk broke, or it asked for a new start
    remount     the volume fails and comes back while the machine goes on: as after a cut
    mount       another volume comes to this seat

Each is followed by a start, after a while. A machine that lost its power has another boot id, and a
volume another mount after each time that it was mounted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.ha.member.replica_state import note_doubtful_log
from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.checks.group_mirror import Stored
from gantrymq.sim.group.group_callers import Caller, Directory
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_machine import Machine, Pace
from gantrymq.sim.nodes.group_network import Network
from gantrymq.sim.nodes.group_process import BrokerProcess
from gantrymq.sim.nodes.group_volumes import TWIN, Volume, blank
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.unsynced import Chooser

HOUR: Final = 4
MEMORY_BYTES: Final = 1 << 30
STOP_SECONDS: Final = 4.0
"""Then a process that was told to stop does so, released or not."""
LOCKED_SECONDS: Final = 0.1
"""Then a process that found the store locked tries again."""
REPLACED_SECONDS: Final = (0.05, 3.0)
TAIL_BYTES: Final = 1 << 15
REMOTING_PORT: Final = 10911
HA_PORT: Final = 10912


@final
@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What all members of a group have in common."""

    members: tuple[int, ...]
    store: StoreSettings
    broker: BrokerSettings
    group_bytes_max: int
    """How much of one turn lies in memory before it is written."""


def address(number: int, port: int = REMOTING_PORT) -> str:
    return f"10.0.0.{number}:{port}"


Assembly = Callable[["Node", BrokerProcess, Store, FaultyDisk], None]
"""Makes the process what it is in its group, before it begins."""


@final
class Node:
    """One machine."""

    def __init__(
        self,
        world: World,
        network: Network,
        directory: Directory,
        checks: Checks,
        settings: GroupSettings,
        number: int,
        drift: float,
        assemble: Assembly,
        *,
        seat: int = 0,
    ) -> None:
        """`seat`: of which member it is; another one than its number where it is a second machine
        that claims a seat."""
        self.random = world.random(f"node {number}")
        self.place = Place(world, number, f"member {number}", self.random, drift)
        self.world = world
        self.network = network
        self.directory = directory
        self.settings = settings
        self.number = number
        self.seat = seat or number
        self.boots = 1
        self.configured: tuple[int, ...] | None = None
        """The members that this one knows; None: those that all others know."""
        self.mounts = 1
        self.pace = Pace()
        self.process: BrokerProcess | None = None
        self.restart_seconds = (0.3, 3.0)
        self.is_stopping: BrokerProcess | None = None
        self.reaped: Callable[[Node], None] = lambda node: None
        """Called when the process has ended and its machine goes on: PID 1 knows for sure."""
        self.guard = Life()
        """PID 1's, from when its process ended until it has seen to the lease: the store is locked
        meanwhile, and no process starts on it."""
        self.guard.is_over = True
        self._assemble = assemble
        self._checks = checks
        self._is_cut = False
        """Whether its log was cut since it was read last: a start may fail behind the cut."""
        self._is_retired = False
        self._keeps_power = False
        chance = world.random(f"disk {number}").random
        self.choose: Chooser = lambda bound: int(chance() * bound)
        self.volume = blank(self._own_key, self.choose, self.place.wall_ms)
        self._names = count(20_261_121_000_000_000)
        directory.numbers[address(number)] = number

    # ------------------------------------------------------------------ a start

    @property
    def boot(self) -> str:
        """Another one after each start of the machine, and each mount of its volume: after it
        nothing is cached of what was written before."""
        return f"boot {self.boots} mount {self.mounts}"

    @property
    def disk(self) -> FaultyDisk:
        return self.volume.disk

    @property
    def _own_key(self) -> int:
        return self.number if self.seat == self.number else TWIN + self.number

    def start(self) -> None:
        """The process, and the machine if need be."""
        if self.process is not None or self._is_retired:
            return
        if not self.guard.is_over:
            self.world.after(LOCKED_SECONDS, self.start)
            return
        self.network.start(self.number)
        self.disk.memory.now_ms = self.place.wall_ms
        try:
            self.process = self._started()
        except PowerCut:
            self.cut("while it starts")
        except (DiskError, SyncFailedError) as error:
            self._down(f"cannot start: {error}", has_power=True)
        except StoreRefusedError as error:
            if not self.volume.is_damaged:
                raise
            self.world.tell(f"{self.place.name} cannot start on a disk that lied: {error}")
            self.world.tally["disks that lied, and were replaced"] += 1
            self.replace_disk()

    def _started(self) -> BrokerProcess:
        life = Life()
        background = MemoryBackground(self.disk)
        store = self._store(background)
        is_cut = log_truncation.requested(self.disk) is not None
        self._is_cut |= is_cut
        self.world.tally["truncations"] += is_cut
        note_doubtful_log(self.disk, self.boot)
        for _ in store.open(self.place.monotonic):
            pass
        log_end = store.log.end
        key, has_lied = self.volume.key, self.volume.is_damaged
        gone = self._checks.mirror(key).reread(self.disk.memory, log_end)
        self.world.tell(
            f"{self.place.name} starts: its log ends at {log_end}, {len(gone)} records less"
        )
        self._checks.reread(key, gone, was_cut=self._is_cut, has_lied=has_lied)
        self._is_cut = False
        process = BrokerProcess(
            Machine(self.place, self.volume, background, self.pace, self.random),
            life,
            self._state(store),
            Caller(self.place, life, self.network, self.directory),
            self._checks,
            self.settings.group_bytes_max,
        )
        process.ended = lambda reason: self._ended(life, reason)
        for file, load in process.core.loaders.items():
            if file.value in self.volume.files:
                load(self.volume.files[file.value])
        self._assemble(self, process, store, self.disk)
        self.process = process
        self.volume.is_damaged = False
        process.enter(process.begin)
        self.directory.services[address(self.number)] = process
        return process

    def _store(self, background: MemoryBackground) -> Store:
        return Store(
            self.disk,
            background,
            self.settings.store,
            new_index_name=lambda: str(next(self._names)),
            local_hour=lambda _: HOUR,
            tail_bytes=TAIL_BYTES,
            is_copy=True,
        )

    def _state(self, store: Store) -> State:
        identity = Identity(
            "broker-a",
            "DefaultCluster",
            self.seat,
            address(self.number),
            address(self.number, HA_PORT),
            self.seat,
        )
        return State(
            self.settings.broker,
            identity,
            store,
            chance=self.random.randrange,
            memory_bytes=MEMORY_BYTES,
            now=self.place.monotonic,
            wall_ms=self.place.wall_ms,
        )

    # ------------------------------------------------------------------ a stop

    def stop(self) -> None:
        """SIGTERM: it hands over what it has, and then ends cleanly."""
        process = self.process
        if process is None or self.is_stopping is process:
            return
        self.is_stopping = process
        self.world.tell(f"{self.place.name} is told to stop")
        self.world.tally["stops"] += 1
        if process.replica is not None:
            process.enter(process.replica.release)
        self._close_later(process, self.place.monotonic + STOP_SECONDS)

    def _close_later(self, process: BrokerProcess, until: float) -> None:
        replica = process.replica
        if replica is not None and not replica.is_released and self.place.monotonic < until:
            again = partial(self._close_later, process, until)
            self.place.after(0.05, again, process.life)
        else:
            process.enter(lambda: self._close(process))

    def _close(self, process: BrokerProcess) -> None:
        process.close()
        self._down("has stopped", has_power=True)

    # ------------------------------------------------------------------ ends

    def kill(self) -> None:
        """As by signal 9."""
        if self.process is not None:
            self.world.tally["kills"] += 1
            self._down("killed", has_power=True)
            self.reaped(self)

    def cut(self, when: str = "") -> None:
        """The power goes."""
        self.world.tally["power cuts"] += 1
        self._down(f"loses its power {when}", has_power=False)

    def cut_soon(self, operations: int, *, has_power: bool) -> None:
        """In the middle of one of the next changes of its disk."""
        self._keeps_power = has_power
        self.disk.crash_at = self.disk.operations + 1 + operations

    def _ended(self, life: Life, reason: str) -> None:
        if self.process is not None and self.process.life is not life:
            return
        if reason == "power" and not self._keeps_power:
            self.cut("in the middle of a write")
        else:
            self.world.tally["ends by itself"] += 1
            self._down(f"ends: {reason}", has_power=True)

    def _down(self, why: str, *, has_power: bool, keeps_cache: bool = True) -> None:
        self.world.tell(f"{self.place.name}: {why}")
        process, self.process = self.process, None
        if process is not None:
            process.end(has_power=has_power)
            self.network.stop(self.number, process.life, has_power=has_power)
            self.directory.services.pop(address(self.number), None)
        elif not has_power:
            self.network.stop(self.number, Life(), has_power=False)
        volume = self.volume
        if has_power and keeps_cache:
            volume.disk = volume.disk.kill()
        else:
            self._lose_cache(has_power=has_power)
        self.world.after(self.random.uniform(*self.restart_seconds), self.start)

    def _lose_cache(self, *, has_power: bool) -> None:
        """What was written and not synced may be gone."""
        if not has_power:
            self.guard.is_over = True
            self.boots += 1
        self.mounts += 1
        volume = self.volume
        if volume.crash():
            self._checks.lost_its_disk(volume.key, self._missing_records())
        else:
            self._checks.went_down(volume.key, self._missing_records())

    def _missing_records(self) -> list[Stored]:
        """What its disk has no more, looked at before anything runs on it again."""
        gone = self._checks.mirror(self.volume.key).survey(self.disk.memory)
        self.world.tell(f"{self.place.name}: its disk has {len(gone)} records less")
        return gone

    # ------------------------------------------------------------------ trouble

    def remount(self) -> None:
        """Its volume fails, and is mounted again; the machine goes on."""
        if self.process is not None:
            self.world.tally["remounts"] += 1
            self._down("its volume fails and is mounted again", has_power=True, keeps_cache=False)
            self.reaped(self)

    def remount_in_order(self) -> None:
        """Its process ends, and all that was written is on the disk before it is mounted again."""
        self.kill()
        self.mounts += 1
        self.volume.unmount()

    def replace_disk(self, *, reboots: bool = True) -> None:
        """Its machine gets another disk, with nothing on it, and may be there again at once; or the
        same disk is emptied while no process uses it."""
        self.kill()
        self.guard.is_over = True
        if reboots:
            self.boots += 1
            self.mounts += 1
        self.volume = blank(self._own_key, self.choose, self.place.wall_ms)
        self._checks.lost_its_disk(self.volume.key, self._missing_records())
        self.world.after(self.random.uniform(*REPLACED_SECONDS), self.start)

    def mount(self, volume: Volume) -> Volume:
        """Another volume comes to this seat; what was there until now, unmounted in order."""
        self.kill()
        self.guard.is_over = True
        self.mounts += 1
        before, self.volume = self.volume, volume
        before.unmount()
        self.world.after(self.random.uniform(*REPLACED_SECONDS), self.start)
        return before

    def roll_back(self, snapshot: Volume) -> None:
        """Its volume is what it was when the snapshot was taken."""
        self.mount(snapshot)
        self._checks.lost_its_disk(snapshot.key, self._missing_records())

    def retire(self) -> None:
        """It ends, and is never started again."""
        self.kill()
        self._is_retired = True

    def take_over(self, other: Node) -> None:
        """The volume of a machine that has retired is this seat's from now on."""
        self.kill()
        self.guard.is_over = True
        self.mounts += 1
        volume = other.volume
        volume.unmount()
        self._checks.takes_over(volume.key, self.number)
        volume.key = self.number
        self.volume = volume
        self.world.after(self.random.uniform(*REPLACED_SECONDS), self.start)
