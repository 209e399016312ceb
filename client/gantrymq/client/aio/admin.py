"""Provides the administration API on asyncio: each flow of the core as an awaitable.

    async with Admin(name_servers="127.0.0.1:9876") as admin:
        await admin.create_topic("orders", queues=8)
        names = await admin.topics.names()
        behind = (await admin.groups.progress("payments")).queues

`admin.flows` is the core's Administration; `await admin.run(flow)` runs a flow composed of its
parts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar, Unpack, final

from gantrymq.client.aio.client import Client, ClientKey
from gantrymq.client.aio.machinery.configuration import ClientKeywords, choose
from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment
from gantrymq.client.aio.membership import Startable
from gantrymq.client.core.admin.accounts import Accounts
from gantrymq.client.core.admin.administration import TIMEOUT_S, Administration
from gantrymq.client.core.admin.brokers import Brokers
from gantrymq.client.core.admin.clusters import Clusters
from gantrymq.client.core.admin.connections import Connections
from gantrymq.client.core.admin.groups import Groups
from gantrymq.client.core.admin.messages import Messages
from gantrymq.client.core.admin.name_servers import NameServerOrders
from gantrymq.client.core.admin.offsets import Offsets
from gantrymq.client.core.admin.quotas import Quotas
from gantrymq.client.core.admin.topics import Topics
from gantrymq.client.core.admin.tracks import Tracks
from gantrymq.client.core.admin.users import Policies, Users
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.flow.lifecycle import Lifecycle

P = ParamSpec("P")
T = TypeVar("T")


class Awaited(Protocol):
    """Wraps a function that returns a flow as a function that returns an awaitable."""

    def __call__(self, function: Callable[P, Flow[T]]) -> Callable[P, Awaitable[T]]: ...


@dataclass(frozen=True, slots=True)
class _NothingMore:
    """Empty settings: Admin has only those of its client."""


@final
class Admin(Startable):
    """Administers a cluster; use it with `async with`. Its attributes are those of the core's
    Administration and are documented there."""

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        environment: Environment = REAL,
        world: Environment | None = None,
        **keywords: Unpack[ClientKeywords],
    ) -> None:
        """Without `name_servers`, the environment variable NAMESRV_ADDR is used. Does no I/O yet.
        Raises ConfigurationError."""
        self._lifecycle = Lifecycle("administrator")
        keywords["api_timeout_s"] = timeout_s
        settings, identity, _ = choose(_NothingMore, {}, keywords)
        self._client = Client(
            ClientKey(settings, identity), renamed_environment(environment, world)
        )
        self.run = self._client.run
        """Runs any flow of the core."""
        self.flows = Administration(self._client.instance, timeout_s)
        flows = self.flows
        self.clusters = _Clusters(self._awaited, flows.clusters)
        self.topics = _Topics(self._awaited, flows.topics)
        self.groups = _Groups(self._awaited, flows.groups)
        self.offsets = _Offsets(self._awaited, flows.offsets)
        self.connections = _Connections(self._awaited, flows.connections)
        self.messages = _Messages(self._awaited, flows.messages, flows.tracks)
        self.brokers = _Brokers(self._awaited, flows.brokers)
        self.name_servers = _NameServers(self._awaited, flows.name_servers)
        self.accounts = _Accounts(self._awaited, flows.accounts)
        self.users = _Users(self._awaited, flows.users)
        self.policies = _Policies(self._awaited, flows.policies)
        self.quotas = _Quotas(self._awaited, flows.quotas)
        self.create_topic = self._awaited(flows.create_topic)
        self.delete_topic = self._awaited(flows.delete_topic)

    def _awaited(self, function: Callable[P, Flow[T]]) -> Callable[P, Awaitable[T]]:
        def run(*arguments: P.args, **named: P.kwargs) -> Awaitable[T]:
            return self.run(function(*arguments, **named))

        run.__doc__ = function.__doc__
        return run

    async def start(self) -> None:
        """Start; raises StateError if it was started before."""
        self._lifecycle.begin()
        self._client.enter()
        self._lifecycle.began()

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        if self._lifecycle.end():
            await self._client.leave()

    def __del__(self) -> None:
        if self._lifecycle.is_open:
            self._client.warn_unclosed(self, "administrator")


@final
class _Clusters:
    def __init__(self, awaited: Awaited, flows: Clusters) -> None:
        self.info = awaited(flows.info)
        self.brokers = awaited(flows.brokers)
        self.masters = awaited(flows.masters)
        self.members = awaited(flows.members)
        self.master = awaited(flows.master)


@final
class _Topics:
    def __init__(self, awaited: Awaited, flows: Topics) -> None:
        self.names = awaited(flows.names)
        self.names_in = awaited(flows.names_in)
        self.system_names = awaited(flows.system_names)
        self.route = awaited(flows.route)
        self.route_by = awaited(flows.route_by)
        self.brokers = awaited(flows.brokers)
        self.groups = awaited(flows.groups)
        self.stats = awaited(flows.stats)
        self.stats_of = awaited(flows.stats_of)
        self.config = awaited(flows.config)
        self.configs = awaited(flows.configs)
        self.config_table = awaited(flows.config_table)
        self.create = awaited(flows.create)
        self.create_all = awaited(flows.create_all)
        self.delete = awaited(flows.delete)
        self.forget = awaited(flows.forget)


@final
class _Groups:
    def __init__(self, awaited: Awaited, flows: Groups) -> None:
        self.names = awaited(flows.names)
        self.brokers = awaited(flows.brokers)
        self.config = awaited(flows.config)
        self.configs = awaited(flows.configs)
        self.config_table = awaited(flows.config_table)
        self.progress = awaited(flows.progress)
        self.progress_at = awaited(flows.progress_at)
        self.all_progress_at = awaited(flows.all_progress_at)
        self.time_spans = awaited(flows.time_spans)
        self.topics = awaited(flows.topics)
        self.create = awaited(flows.create)
        self.create_all = awaited(flows.create_all)
        self.delete = awaited(flows.delete)
        self.set_mode = awaited(flows.set_mode)


@final
class _Offsets:
    def __init__(self, awaited: Awaited, flows: Offsets) -> None:
        self.first = awaited(flows.first)
        self.end = awaited(flows.end)
        self.at = awaited(flows.at)
        self.first_stored_ms = awaited(flows.first_stored_ms)
        self.of = awaited(flows.of)
        self.move = awaited(flows.move)
        self.reset = awaited(flows.reset)
        self.reset_at = awaited(flows.reset_at)
        self.clone = awaited(flows.clone)
        self.copy = awaited(flows.copy)


@final
class _Connections:
    def __init__(self, awaited: Awaited, flows: Connections) -> None:
        self.consumers = awaited(flows.consumers)
        self.consumers_at = awaited(flows.consumers_at)
        self.producers = awaited(flows.producers)
        self.all_producers = awaited(flows.all_producers)
        self.running = awaited(flows.running)
        self.progress = awaited(flows.progress)
        self.consume = awaited(flows.consume)


@final
class _Messages:
    def __init__(self, awaited: Awaited, flows: Messages, tracks: Tracks) -> None:
        self.by_offset_id = awaited(flows.by_offset_id)
        self.by_key = awaited(flows.by_key)
        self.pull = awaited(flows.pull)
        self.units = awaited(flows.units)
        self.tracks = awaited(tracks.of)


@final
class _Brokers:
    def __init__(self, awaited: Awaited, flows: Brokers) -> None:
        self.figures = awaited(flows.figures)
        self.settings = awaited(flows.settings)
        self.change = awaited(flows.change)
        self.stats = awaited(flows.stats)
        self.replication = awaited(flows.replication)
        self.reset_master_flush_offset = awaited(flows.reset_master_flush_offset)
        self.clean_expired_queues = awaited(flows.clean_expired_queues)
        self.clean_unused_topics = awaited(flows.clean_unused_topics)
        self.delete_expired_log = awaited(flows.delete_expired_log)


@final
class _NameServers:
    def __init__(self, awaited: Awaited, flows: NameServerOrders) -> None:
        self.settings = awaited(flows.settings)
        self.change = awaited(flows.change)
        self.clusters = awaited(flows.clusters)
        self.value = awaited(flows.value)
        self.values = awaited(flows.values)
        self.put = awaited(flows.put)
        self.delete = awaited(flows.delete)
        self.wipe_write = awaited(flows.wipe_write)
        self.add_write = awaited(flows.add_write)


@final
class _Accounts:
    def __init__(self, awaited: Awaited, flows: Accounts) -> None:
        self.table = awaited(flows.table)
        self.versions = awaited(flows.versions)
        self.update = awaited(flows.update)
        self.delete = awaited(flows.delete)
        self.set_white_addresses = awaited(flows.set_white_addresses)


@final
class _Users:
    def __init__(self, awaited: Awaited, flows: Users) -> None:
        self.create = awaited(flows.create)
        self.update = awaited(flows.update)
        self.rotate = awaited(flows.rotate)
        self.end_rotation = awaited(flows.end_rotation)
        self.delete = awaited(flows.delete)
        self.get = awaited(flows.get)
        self.listed = awaited(flows.listed)


@final
class _Policies:
    def __init__(self, awaited: Awaited, flows: Policies) -> None:
        self.create = awaited(flows.create)
        self.update = awaited(flows.update)
        self.delete = awaited(flows.delete)
        self.get = awaited(flows.get)
        self.listed = awaited(flows.listed)


@final
class _Quotas:
    def __init__(self, awaited: Awaited, flows: Quotas) -> None:
        self.table = awaited(flows.table)
        self.set = awaited(flows.set)
        self.delete = awaited(flows.delete)
