"""Holds what every part of the broker core uses: time, identity, settings, store, effects, tasks.

The tables of the broker take a `Context`. `State` (state.py) extends it by these tables, and is
what services and request handlers take. So no table depends on a service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from gantrymq.base.memory_account import MemoryAccount, limit_of
from gantrymq.base.stalls import StallWatch
from gantrymq.broker.core.engine.admission import Admission
from gantrymq.broker.core.engine.configuration import Configuration
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.member_tables import ALONE, Members
from gantrymq.broker.core.engine.task_runner import TaskRunner
from gantrymq.broker.core.messages import Effects, File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.ha.status import NO_REPLICATION, Replication
from gantrymq.store.append.kernel import Kernel
from gantrymq.store.engine import Store
from gantrymq.wire import hosts
from gantrymq.wire.message.unique_id import UniqueIdMaker


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """The names and addresses of this broker.

    `address` is `host:port`, as clients connect to it. Where a group elects its master, each broker
    is a `member`, numbered from 1, and has that number as its broker id while another one is
    master.
    """

    name: str
    cluster: str
    broker_id: int
    address: str
    ha_address: str
    member: int = 0
    """The member's number; 0: the roles are fixed."""
    group_address: str = ""
    """Where clients reach the current master; "" where that is each broker's own address."""
    ip_address: str = ""
    """The `ip:port` form of an `address` that begins with a name; "" where `address` has an IP."""

    @property
    def stored_address(self) -> str:
        """`ip:port` for records and message ids, which have no room for a name."""
        return self.ip_address or self.address

    @property
    def store_host(self) -> bytes:
        return hosts.parse(self.stored_address)

    @property
    def is_master(self) -> bool:
        return self.broker_id == 0

    @property
    def is_elected(self) -> bool:
        """Whether the group elects its master, so that this broker's role may change."""
        return self.member > 0


class Context:
    """The values that all parts of one broker share. `Broker` sets the times at each call.

    The only subclass is `State`.
    """

    __slots__ = (
        "admission",
        "chance",
        "configuration",
        "effects",
        "files",
        "group_secret",
        "identity",
        "is_paused",
        "kernel",
        "master_address",
        "master_flushed",
        "members",
        "memory",
        "memory_bytes",
        "next_eviction",
        "now",
        "replication",
        "serves",
        "settings",
        "stalls",
        "started_ms",
        "store",
        "task_runner",
        "unique_ids",
        "wall_ms",
    )

    def __init__(
        self,
        settings: BrokerSettings,
        identity: Identity,
        store: Store,
        chance: Callable[[int], int],
        memory_bytes: int,
        now: float,
        wall_ms: int,
    ) -> None:
        self.settings = settings
        self.identity = identity
        self.store = store
        self.chance = chance
        """`chance(n)` returns a random number from 0 to n - 1."""
        self.now = now
        """The monotonic time of the current call into the core, in seconds."""
        self.wall_ms = wall_ms
        """The wall clock time of the current call into the core, in ms."""
        self.started_ms = wall_ms
        self.memory_bytes = memory_bytes
        self.memory = MemoryAccount(limit_of(settings.max_peer_memory, memory_bytes))
        """The memory that this broker uses for its clients and peers."""
        self.next_eviction: float = 0.0
        """When connections may be closed again in favour of a heartbeat (evictions.py)."""
        self.effects = Effects()
        self.files = Files()
        self.stalls = StallWatch()
        """Measures what blocks the event loop. Its clock stands still until the host sets one."""
        self.task_runner = TaskRunner(store, self.files, self.effects, self.stalls)
        self.admission = Admission(now)
        self.configuration = Configuration(settings, store.settings, wall_ms)
        self.files.keep(File.SETTINGS, self.configuration.content)
        address, _ = hosts.unpack(identity.store_host)
        self.unique_ids = UniqueIdMaker(address, chance(1 << 16), chance(1 << 32))
        self._set_role()

    def _set_role(self) -> None:
        self.kernel: Kernel | None = None
        """Takes sends directly from receive buffers; None while no send may be taken that way."""
        self.replication: Replication = NO_REPLICATION
        self.members: Members = ALONE
        self.group_secret: GroupSecret | None = None
        """The group's secret for proofs between members; None where the group has none."""
        self.serves = self.identity.is_master
        """Whether the master's own services run: delayed messages, transaction checks, pop
        revival."""
        self.is_paused = False
        """Whether this master begins no new work, because it is about to hand over."""
        self.master_address = ""
        """Where the master takes requests; empty on the master, and while it is unknown."""
        self.master_flushed = 0
        """The flushed position of the master, as an administrator set it. It is only shown."""
