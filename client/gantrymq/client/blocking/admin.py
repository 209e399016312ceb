"""Provides the blocking administrator, whose methods run flows of the core and wait for them.

    with Admin(name_servers="127.0.0.1:9876") as admin:
        names = admin.topics.names()
        behind = admin.groups.progress("payments").queues

Its attributes are those of `client.aio.admin`; `client.core.admin` documents their methods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar, Unpack, final

from gantrymq.client.aio import admin
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.client.blocking.facade import Facade
from gantrymq.client.core.admin.accounts import Accounts
from gantrymq.client.core.admin.administration import TIMEOUT_S
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
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.flow.flow_steps import Flow

P = ParamSpec("P")
T = TypeVar("T")


class Waited(Protocol):
    """Turns a function that returns a flow into a function that returns the flow's result."""

    def __call__(self, function: Callable[P, Flow[T]]) -> Callable[P, T]: ...


@final
class Admin(Facade[admin.Admin]):
    """Administers a cluster; use it with `with`, from any thread. See `aio.admin`."""

    def __init__(self, *, timeout_s: float = TIMEOUT_S, **keywords: Unpack[ClientKeywords]) -> None:
        """Without `name_servers`, the environment variable NAMESRV_ADDR is used. Raises
        ConfigurationError."""
        super().__init__(admin.Admin(timeout_s=timeout_s, **keywords))
        flows = self.flows = self._member.flows
        self.clusters = _Clusters(self._waited, flows.clusters)
        self.topics = _Topics(self._waited, flows.topics)
        self.groups = _Groups(self._waited, flows.groups)
        self.offsets = _Offsets(self._waited, flows.offsets)
        self.connections = _Connections(self._waited, flows.connections)
        self.messages = _Messages(self._waited, flows.messages, flows.tracks)
        self.brokers = _Brokers(self._waited, flows.brokers)
        self.name_servers = _NameServers(self._waited, flows.name_servers)
        self.accounts = _Accounts(self._waited, flows.accounts)
        self.users = _Users(self._waited, flows.users)
        self.policies = _Policies(self._waited, flows.policies)
        self.quotas = _Quotas(self._waited, flows.quotas)
        self.create_topic = self._waited(flows.create_topic)
        self.delete_topic = self._waited(flows.delete_topic)

    def run(self, flow: Flow[T]) -> T:
        """Run any flow of the core; returns its result or raises its error."""
        try:
            thread = self.thread
        except StateError:
            flow.close()
            raise
        return thread.run(self._member.run(flow))

    def _waited(self, function: Callable[P, Flow[T]]) -> Callable[P, T]:
        @wraps(function)
        def waiting(*arguments: P.args, **named: P.kwargs) -> T:
            return self.run(function(*arguments, **named))

        return waiting


@final
class _Clusters:
    def __init__(self, waited: Waited, flows: Clusters) -> None:
        self.info = waited(flows.info)
        self.brokers = waited(flows.brokers)
        self.masters = waited(flows.masters)
        self.members = waited(flows.members)
        self.master = waited(flows.master)


@final
class _Topics:
    def __init__(self, waited: Waited, flows: Topics) -> None:
        self.names = waited(flows.names)
        self.names_in = waited(flows.names_in)
        self.system_names = waited(flows.system_names)
        self.route = waited(flows.route)
        self.route_by = waited(flows.route_by)
        self.brokers = waited(flows.brokers)
        self.groups = waited(flows.groups)
        self.stats = waited(flows.stats)
        self.stats_of = waited(flows.stats_of)
        self.config = waited(flows.config)
        self.configs = waited(flows.configs)
        self.config_table = waited(flows.config_table)
        self.create = waited(flows.create)
        self.create_all = waited(flows.create_all)
        self.delete = waited(flows.delete)
        self.forget = waited(flows.forget)


@final
class _Groups:
    def __init__(self, waited: Waited, flows: Groups) -> None:
        self.names = waited(flows.names)
        self.brokers = waited(flows.brokers)
        self.config = waited(flows.config)
        self.configs = waited(flows.configs)
        self.config_table = waited(flows.config_table)
        self.progress = waited(flows.progress)
        self.progress_at = waited(flows.progress_at)
        self.all_progress_at = waited(flows.all_progress_at)
        self.time_spans = waited(flows.time_spans)
        self.topics = waited(flows.topics)
        self.create = waited(flows.create)
        self.create_all = waited(flows.create_all)
        self.delete = waited(flows.delete)
        self.set_mode = waited(flows.set_mode)


@final
class _Offsets:
    def __init__(self, waited: Waited, flows: Offsets) -> None:
        self.first = waited(flows.first)
        self.end = waited(flows.end)
        self.at = waited(flows.at)
        self.first_stored_ms = waited(flows.first_stored_ms)
        self.of = waited(flows.of)
        self.move = waited(flows.move)
        self.reset = waited(flows.reset)
        self.reset_at = waited(flows.reset_at)
        self.clone = waited(flows.clone)
        self.copy = waited(flows.copy)


@final
class _Connections:
    def __init__(self, waited: Waited, flows: Connections) -> None:
        self.consumers = waited(flows.consumers)
        self.consumers_at = waited(flows.consumers_at)
        self.producers = waited(flows.producers)
        self.all_producers = waited(flows.all_producers)
        self.running = waited(flows.running)
        self.progress = waited(flows.progress)
        self.consume = waited(flows.consume)


@final
class _Messages:
    def __init__(self, waited: Waited, flows: Messages, tracks: Tracks) -> None:
        self.by_offset_id = waited(flows.by_offset_id)
        self.by_key = waited(flows.by_key)
        self.pull = waited(flows.pull)
        self.units = waited(flows.units)
        self.tracks = waited(tracks.of)


@final
class _Brokers:
    def __init__(self, waited: Waited, flows: Brokers) -> None:
        self.figures = waited(flows.figures)
        self.settings = waited(flows.settings)
        self.change = waited(flows.change)
        self.stats = waited(flows.stats)
        self.replication = waited(flows.replication)
        self.reset_master_flush_offset = waited(flows.reset_master_flush_offset)
        self.clean_expired_queues = waited(flows.clean_expired_queues)
        self.clean_unused_topics = waited(flows.clean_unused_topics)
        self.delete_expired_log = waited(flows.delete_expired_log)


@final
class _NameServers:
    def __init__(self, waited: Waited, flows: NameServerOrders) -> None:
        self.settings = waited(flows.settings)
        self.change = waited(flows.change)
        self.clusters = waited(flows.clusters)
        self.value = waited(flows.value)
        self.values = waited(flows.values)
        self.put = waited(flows.put)
        self.delete = waited(flows.delete)
        self.wipe_write = waited(flows.wipe_write)
        self.add_write = waited(flows.add_write)


@final
class _Accounts:
    def __init__(self, waited: Waited, flows: Accounts) -> None:
        self.table = waited(flows.table)
        self.versions = waited(flows.versions)
        self.update = waited(flows.update)
        self.delete = waited(flows.delete)
        self.set_white_addresses = waited(flows.set_white_addresses)


@final
class _Users:
    def __init__(self, waited: Waited, flows: Users) -> None:
        self.create = waited(flows.create)
        self.update = waited(flows.update)
        self.rotate = waited(flows.rotate)
        self.end_rotation = waited(flows.end_rotation)
        self.delete = waited(flows.delete)
        self.get = waited(flows.get)
        self.listed = waited(flows.listed)


@final
class _Policies:
    def __init__(self, waited: Waited, flows: Policies) -> None:
        self.create = waited(flows.create)
        self.update = waited(flows.update)
        self.delete = waited(flows.delete)
        self.get = waited(flows.get)
        self.listed = waited(flows.listed)


@final
class _Quotas:
    def __init__(self, waited: Waited, flows: Quotas) -> None:
        self.table = waited(flows.table)
        self.set = waited(flows.set)
        self.delete = waited(flows.delete)
