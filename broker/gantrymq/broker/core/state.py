"""Holds the state of one broker, which its handlers and periodic services share.

`now` and `wall_ms` are the times of the current call into the core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.acl.users.table_file import Seal
from gantrymq.base.memory_account import MemoryAccount, limit_of
from gantrymq.base.stalls import StallWatch
from gantrymq.broker.core.acl.access import Access
from gantrymq.broker.core.admin.stats import Stats
from gantrymq.broker.core.client.client_watch import ClientWatch
from gantrymq.broker.core.client.clients import Clients
from gantrymq.broker.core.client.conflicts import Conflicts
from gantrymq.broker.core.client.locks import Locks
from gantrymq.broker.core.engine.admission import Admission
from gantrymq.broker.core.engine.configuration import Configuration
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.table_memory import TableMemory
from gantrymq.broker.core.engine.task_runner import TaskRunner
from gantrymq.broker.core.engine.write_health_log import WriteHealthLog
from gantrymq.broker.core.figures.messages import MessageFigures
from gantrymq.broker.core.figures.requests import RequestFigures
from gantrymq.broker.core.figures.store_values import StoreValues
from gantrymq.broker.core.filter.filter_data import Filters
from gantrymq.broker.core.messages import Effects, File
from gantrymq.broker.core.metadata.group_expiry import GroupExpiry
from gantrymq.broker.core.metadata.groups import Groups
from gantrymq.broker.core.metadata.request_modes import RequestModes
from gantrymq.broker.core.metadata.routes import Routes
from gantrymq.broker.core.metadata.topics import Topics
from gantrymq.broker.core.offset.offsets import Offsets
from gantrymq.broker.core.offset.resets import Resets
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.pull.consumer_eviction import ConsumerEviction
from gantrymq.broker.core.pull.misrouted_consumers import MisroutedConsumers
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.quotas.quotas import Quotas
from gantrymq.broker.core.replication.master_addresses import MasterAddresses
from gantrymq.broker.core.replication.member_tables import ALONE, Members
from gantrymq.broker.core.replication.metadata_replication import MetadataReplication
from gantrymq.broker.core.replication.role_controller import RoleController
from gantrymq.broker.core.replication.slave_synchronizer import SlaveSynchronizer
from gantrymq.broker.core.schedule import delays, timers
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.send.kernel_eligibility import KernelEligibility
from gantrymq.broker.core.send.retry_copies import RetryCopies
from gantrymq.broker.core.send.send_forwarder import SendForwarder
from gantrymq.broker.core.services import ArrivalListener, PeriodicService
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.transaction.open_halves import OpenHalves
from gantrymq.broker.core.transaction.transaction_check import TransactionCheck
from gantrymq.ha.status import NOBODY, Replication
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


@final
class State:
    """The context of one broker, owned by `Broker` and passed to its handlers and services."""

    __slots__ = (
        "access",
        "admission",
        "carried",
        "chance",
        "client_watch",
        "clients",
        "configuration",
        "conflicts",
        "copying",
        "delays",
        "effects",
        "figures",
        "files",
        "filters",
        "following",
        "group_expiry",
        "groups",
        "halves",
        "holds",
        "identity",
        "kernel",
        "locks",
        "members",
        "memory",
        "memory_bytes",
        "next_eviction",
        "now",
        "offsets",
        "pops",
        "quick_sends",
        "quotas",
        "refusals",
        "reign",
        "relays",
        "replication",
        "request_figures",
        "request_modes",
        "resets",
        "retry_copies",
        "routes",
        "serves",
        "settings",
        "stalls",
        "started_ms",
        "stats",
        "store",
        "store_values",
        "stranded",
        "strays",
        "table_memory",
        "timers",
        "topics",
        "transaction_check",
        "unique_ids",
        "unsaved_topics",
        "wall_ms",
        "works",
    )

    def __init__(
        self,
        settings: BrokerSettings,
        identity: Identity,
        store: Store,
        *,
        chance: Callable[[int], int],
        memory_bytes: int,
        now: float,
        wall_ms: int,
        seal: Seal | None = None,
    ) -> None:
        """`chance(n)` returns a number from 0 to n - 1; `seal` encrypts the passwords in the users
        file."""
        self.settings = settings
        self.identity = identity
        self.store = store
        self.chance = chance
        self.memory_bytes = memory_bytes
        self.memory = MemoryAccount(limit_of(settings.max_peer_memory, memory_bytes))
        """What this broker keeps in memory for its peers."""
        self.next_eviction: float = 0.0
        """When connections may be closed again in favour of a heartbeat (evictions.py)."""
        self.now = now
        self.wall_ms = wall_ms
        self.started_ms = wall_ms
        self.replication: Replication = NOBODY
        self.members: Members = ALONE
        self.serves = identity.is_master
        """Whether the master's own services run: delayed messages, transaction checks, pop
        revival."""
        self.kernel: Kernel | None = None
        """Takes sends directly from receive buffers, while that is allowed."""
        self.effects = Effects()
        self._make_tables()
        self.configuration = Configuration(settings, store.settings, wall_ms)
        self.files.keep(File.SETTINGS, self.configuration.content)
        self.access = Access(settings, seal)
        self.files.keep(File.ACL, self.access.content)
        if self.access.users is not None:
            self.files.keep(File.USERS, self.access.users.content)
        self.admission = Admission(self.now)
        address, _ = hosts.unpack(identity.store_host)
        self.unique_ids = UniqueIdMaker(address, chance(1 << 16), chance(1 << 32))
        self._make_machines()

    def _make_tables(self) -> None:
        self.stalls = StallWatch()
        """What held the event loop; its clock stands still until the host sets one."""
        self.figures = MessageFigures()
        self.request_figures = RequestFigures()
        self.files = Files()
        self.works = TaskRunner(self.store, self.files, self.effects, self.stalls)
        self.topics = Topics(self.files)
        self.unsaved_topics: set[str] = set()
        """Topics that messages created and that a crash could still lose."""
        self.groups = Groups(self.files)
        self.offsets = Offsets(self.files)
        self.table_memory = TableMemory(self)
        self.resets = Resets()
        self.retry_copies = RetryCopies()
        self.clients = Clients(self.memory)
        self.filters = Filters(self)
        self.conflicts = Conflicts(self.effects)
        self.locks = Locks()
        self.halves = OpenHalves()

    def _make_machines(self) -> None:
        """Create the periodic services, which use the tables."""
        self.reign = RoleController(self)
        self.carried = MetadataReplication(self)
        self.relays = SendForwarder(self)
        self.quick_sends = KernelEligibility(self)
        self.quotas = Quotas(self)
        self.client_watch = ClientWatch(self)
        self.group_expiry = GroupExpiry(self)
        self.stats = Stats(self)
        self.stats.kernel_counts = self.quick_sends.take_counts
        self.refusals = WriteHealthLog(self)
        self.holds = PullRequestHold(self)
        self.pops = Pops(self)
        self.request_modes = RequestModes(self.files)
        self.routes = Routes(self)
        self.delays = DelayService(self)
        self.transaction_check = TransactionCheck(self)
        self.timers = TimerService(self)
        self.following = MasterAddresses(self)
        self.copying = SlaveSynchronizer(self)
        self.stranded = ConsumerEviction(self)
        self.strays = MisroutedConsumers(self)
        self.store_values = StoreValues(self)

    @property
    def machines(self) -> Sequence[PeriodicService]:
        """The periodic services, in the order of a turn."""
        return (
            self.reign,
            self.carried,
            self.relays,
            self.quick_sends,
            self.quotas,
            self.client_watch,
            self.group_expiry,
            self.table_memory,
            self.stats,
            self.refusals,
            self.holds,
            self.pops,
            self.delays,
            self.transaction_check,
            self.timers,
            self.following,
            self.copying,
            self.stranded,
            self.strays,
        )

    @property
    def readers(self) -> Sequence[ArrivalListener]:
        """The listeners for messages of any topic."""
        return self.holds, self.pops

    @property
    def topic_readers(self) -> Mapping[str, ArrivalListener]:
        """The listeners for messages of one topic."""
        return {delays.TOPIC: self.delays, timers.TOPIC: self.timers}
