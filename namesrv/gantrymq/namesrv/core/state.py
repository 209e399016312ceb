"""Holds the state of a name server's core, on which its request handlers work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from gantrymq.base.memory_account import MemoryAccount
from gantrymq.namesrv.core.config import kvconfig
from gantrymq.namesrv.core.config.durable_value import DurableValue
from gantrymq.namesrv.core.config.kvconfig import KvChange, KvTables, Namespaces
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import Effects, Outcome, Request
from gantrymq.namesrv.core.routing.answers import Answers
from gantrymq.namesrv.core.routing.liveness import Liveness
from gantrymq.namesrv.core.routing.registration import Registrar
from gantrymq.namesrv.core.routing.route_memory import RouteMemory
from gantrymq.namesrv.core.routing.routes import Routes
from gantrymq.namesrv.core.settings import NameServerSettings, changed_settings


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force, and the changes by requests since the start, by key."""

    settings: NameServerSettings
    changes: Mapping[str, str] = field(default_factory=dict)

    def changed(self, changes: Sequence[Mapping[str, str]]) -> Configuration:
        """The configuration after these changes, which must be valid."""
        settings, kept = self.settings, dict(self.changes)
        for change in changes:
            settings = changed_settings(settings, change)
            kept.update(change)
        return Configuration(settings, kept)


@dataclass(slots=True)
class Counters:
    """Counts of events since the start; the assembly exports them as metrics."""

    requests: Counter[tuple[int, int]] = field(default_factory=Counter)
    """By request code and response code; unsupported request codes count as -1."""

    route_misses: int = 0
    registrations_applied: int = 0
    registrations_unchanged: int = 0
    registrations_refused: int = 0
    expired_brokers: int = 0


@final
class State:
    """The tables and the objects that change them. One event loop owns it; there are no locks."""

    __slots__ = (
        "answers",
        "configuration",
        "counters",
        "effects",
        "kv",
        "limits",
        "liveness",
        "registrar",
        "route_memory",
        "routes",
        "started_at",
    )

    def __init__(
        self,
        configuration: Configuration,
        namespaces: Namespaces,
        limits: NameServerLimits,
        now: float,
        memory: MemoryAccount,
    ) -> None:
        self.limits = limits
        self.started_at = now
        self.effects = Effects()
        self.counters = Counters()
        self.routes = Routes(self.effects)
        self.answers = Answers(self.routes, limits.answer_cache_bytes_max)
        self.route_memory = RouteMemory(memory, self.routes)
        self.registrar = Registrar(self.routes, self.effects, limits, self.route_memory)
        self.liveness = Liveness(self.routes, now)
        self.kv: DurableValue[KvTables, KvChange] = DurableValue(
            KvTables.of(namespaces), kvconfig.changed
        )
        self.configuration: DurableValue[Configuration, Mapping[str, str]] = DurableValue(
            configuration, Configuration.changed
        )

    @property
    def namespaces(self) -> Namespaces:
        return self.kv.value.namespaces

    @property
    def settings(self) -> NameServerSettings:
        return self.configuration.value.settings


Handler: TypeAlias = Callable[[State, Request, float], Outcome]
