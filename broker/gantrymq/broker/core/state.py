"""Holds the tables of one broker, which its services and request handlers share.

The core has five levels. A module imports modules of its own level or of lower levels only, so that
no cycle of imports spans packages:

    engine, messages, settings      tasks, files, effects: no knowledge of a broker
    context.py                      time, identity, settings, store, effects, tasks
    tables, names, access, figures, quotas
                                    the tables: they take a Context, or only other tables
    state.py                        a Context with all tables
    metadata, client, pull, pop, send, schedule, transaction, replication, acl, monitoring
                                    services: they take the State, and the services that they use
    services.py                     creates all services
    processor                       request handlers: they take the State and some services
    broker.py                       dispatches requests, and runs the services
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gantrymq.acl.users.table_file import Seal
from gantrymq.broker.core.access.access import Access
from gantrymq.broker.core.context import Context, Identity
from gantrymq.broker.core.figures.messages import MessageFigures
from gantrymq.broker.core.figures.requests import RequestFigures
from gantrymq.broker.core.figures.stats import Stats
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.quotas.quotas import Quotas
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.clients import Clients
from gantrymq.broker.core.tables.conflicts import Conflicts
from gantrymq.broker.core.tables.filters import Filters
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.in_flight import InFlightMessages
from gantrymq.broker.core.tables.locks import Locks
from gantrymq.broker.core.tables.offsets import Offsets
from gantrymq.broker.core.tables.open_halves import OpenHalves
from gantrymq.broker.core.tables.request_modes import RequestModes
from gantrymq.broker.core.tables.resets import Resets
from gantrymq.broker.core.tables.retry_copies import RetryCopies
from gantrymq.broker.core.tables.table_memory import TableMemory
from gantrymq.broker.core.tables.timer_calendar import WaitingTimers
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.store.engine import Store
from gantrymq.store.record.delay_levels import DelayLevels


@final
class State(Context):
    """The tables of one broker. `Broker` owns it; services and request handlers take it."""

    __slots__ = (
        "access",
        "clients",
        "conflicts",
        "delay_levels",
        "figures",
        "filters",
        "groups",
        "in_flight",
        "locks",
        "offsets",
        "open_halves",
        "quotas",
        "request_figures",
        "request_modes",
        "resets",
        "retry_copies",
        "stats",
        "table_memory",
        "timers",
        "topics",
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
        super().__init__(settings, identity, store, chance, memory_bytes, now, wall_ms)
        self.access = Access(settings, seal)
        self.files.keep(File.ACL, self.access.content)
        if self.access.users is not None:
            self.files.keep(File.USERS, self.access.users.content)
        self._make_tables()
        self.figures = MessageFigures()
        self.request_figures = RequestFigures()
        self.stats = Stats(self, self.figures, self.topics, self.groups)
        self.quotas = Quotas(self, self.access, self.topics, self.groups)

    def _make_tables(self) -> None:
        self.topics = Topics(self.files)
        self.groups = Groups(self.files)
        self.offsets = Offsets(self.files)
        self.table_memory = TableMemory(self.memory, self.topics, self.groups, self.offsets)
        self.request_modes = RequestModes(self.files)
        self.resets = Resets()
        self.retry_copies = RetryCopies()
        self.clients = Clients(self.memory)
        self.filters = Filters(self, self.clients)
        self.conflicts = Conflicts(self.effects)
        self.locks = Locks()
        self.in_flight = InFlightMessages()
        """Popped messages that are neither acknowledged nor visible again."""
        self.open_halves = OpenHalves()
        self.timers = WaitingTimers()
        self.delay_levels = DelayLevels(self.store.settings.message_delay_level)
