"""What a broker knows, for its handlers and machines to share.

`now` and `wall_ms` are those of the call into the core that is being carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.broker.core.clients import Clients
from gantrymq.broker.core.files import Files
from gantrymq.broker.core.groups import Groups
from gantrymq.broker.core.machine import Machine
from gantrymq.broker.core.messages import Effects
from gantrymq.broker.core.offsets import Offsets
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.topics import Topics
from gantrymq.broker.core.works import Works
from gantrymq.store.engine import Store
from gantrymq.store.kernel import Kernel
from gantrymq.wire import hosts


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """Who this broker is to others. `address` is `ip:port`, as clients connect to it."""

    name: str
    cluster: str
    broker_id: int
    address: str
    ha_address: str

    @property
    def store_host(self) -> bytes:
        return hosts.parse(self.address)

    @property
    def is_master(self) -> bool:
        return self.broker_id == 0


@final
class State:
    """Of one broker."""

    __slots__ = (
        "chance",
        "clients",
        "effects",
        "files",
        "groups",
        "identity",
        "kernel",
        "memory_bytes",
        "now",
        "offsets",
        "settings",
        "started_ms",
        "store",
        "topics",
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
    ) -> None:
        """`chance` answers a number from 0 up to, without, its argument."""
        self.settings = settings
        self.identity = identity
        self.store = store
        self.chance = chance
        self.memory_bytes = memory_bytes
        self.now = now
        self.wall_ms = wall_ms
        self.started_ms = wall_ms
        self.kernel: Kernel | None = None
        """What takes sends straight from receive buffers, while that is allowed."""
        self.effects = Effects()
        self.files = Files()
        self.works = Works(store, self.files, self.effects)
        self.topics = Topics(self.files)
        self.groups = Groups(self.files)
        self.offsets = Offsets(self.files)
        self.clients = Clients()
        # The machines, each of which finds the tables above.

    @property
    def machines(self) -> Sequence[Machine]:
        """Those that have something to do by themselves, in the order of a turn."""
        return ()
