"""Runs the broker: connects its core with sockets, the disk, files and the clock.

This module has the life cycle and the callbacks of the network server; turn_loop.py runs the turns.
Completed disk operations wake the event loop by a file descriptor.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.base.group_secret import SECRETS_PATH
from gantrymq.broker import store_opening
from gantrymq.broker.configuration import OVERRIDES, Setup
from gantrymq.broker.core.access.exposure import Protection, exposed
from gantrymq.broker.core.broker import FAST_LISTENER, Broker
from gantrymq.broker.core.messages import (
    SECRET_FILES,
    File,
    Reply,
    Request,
    Silent,
)
from gantrymq.broker.core.settings import BrokerRole
from gantrymq.broker.core.state import State
from gantrymq.broker.effect_executor import EffectExecutor
from gantrymq.broker.links.replication import BrokerReplication
from gantrymq.broker.member.member_host import MemberHost
from gantrymq.broker.metrics_pages import MetricsPages
from gantrymq.broker.metrics_push import exporter
from gantrymq.broker.peers.registrar import Registrar
from gantrymq.broker.peers.remote_requests import RemoteRequests
from gantrymq.broker.peers.topic_propagator import TopicPropagator
from gantrymq.broker.readiness import store_reason
from gantrymq.broker.setup import disk_decisions
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.broker.turn_loop import TurnLoop
from gantrymq.ha.lease.lease_deadline import LeaseDeadline
from gantrymq.metrics.samples import Source
from gantrymq.metrics.tables import exporter4
from gantrymq.remoting.connections import ConnectionLimits, parse_networks
from gantrymq.remoting.events import Reason
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.refusal import failed
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import LoopLag, server_samples
from gantrymq.runtime.http.otlp import OtlpExporter
from gantrymq.runtime.logs import Log
from gantrymq.runtime.memory import memory_bytes
from gantrymq.runtime.net.backlog import Backlog
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.net.net import Listener, Server, ServerLimits
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.pulse import Pulse
from gantrymq.runtime.security.acl_file import AclFile
from gantrymq.runtime.security.bearer_token import token_file
from gantrymq.runtime.security.certificates import ServerContexts, TlsMode
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.storage import descriptors
from gantrymq.runtime.storage.audit_log import AuditLog, audit_file
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.runtime.storage.files import save_now
from gantrymq.runtime.storage.watched_file import WatchedFile
from gantrymq.runtime.watchdog import Watchdog
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerResponse

MAIN_LISTENER: Final = "internal"

# Messages of megabytes are stored quickly, but parsing as much JSON takes tens of milliseconds.
LONG_BYTES: Final = 1 << 20

# How long connections may finish requests in flight when the broker stops.
GRACE_SECONDS: Final = 3.0

# Java's value: a client that does not answer a request of the broker in time is not asked again.
QUESTIONS_MAX: Final = 4096

_ASYNC_MASTER: Final = BrokerRole.ASYNC_MASTER

# The name of a stall at the end of a connection.
CLOSING: Final = "end of a connection"

LINES_MAX: Final = 300
LINES_SECONDS: Final = 10.0


@final
class BrokerHost:
    """Owns all parts of a running broker. The caller uses `start`, then `stop`; `failed` reports a
    store that cannot continue."""

    def __init__(
        self, setup: Setup, clock: Clock = SYSTEM_CLOCK, *, is_alone: bool = False
    ) -> None:
        """`is_alone`: do not listen for slaves unless the role waits for them."""
        self._is_alone = is_alone
        self._setup = setup
        self._more_metrics: list[Source] = []
        self._clock = clock
        self._log = Log("broker")
        self._is_serving = False
        self._lag = LoopLag()
        self._health: HealthServer | None = None
        self._exporter: OtlpExporter | None = None
        self._pulse = Pulse(clock)
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._disk, self._background, self._store = _store_of(setup, clock)
        self._dialer = Dialer(
            tls=ClientContexts.of(setup.client_tls, self._log.warning),
            clock=clock,
            credentials=setup.credentials,
        )
        self._acl_file = AclFile(Path(setup.settings.acl_file), self._log)
        self.state = _state_of(setup, self._store, clock)
        self._backlog = self._make_backlog()
        self._watchdog = Watchdog(self.state.stalls, self._log)
        self.core = Broker(self.state)
        quota_file = _path(setup, File.QUOTAS)
        self._quota_file = WatchedFile(quota_file, self._log, self.core.quotas_edited)
        self._registrar = Registrar(self.state, self._dialer, self._log, self._registered)
        self._audit_log = _audit_log_of(setup, clock)
        self._effect_executor = self._make_effect_executor()
        self._security = _security_of(setup, self._log)
        self._member = self._make_member()
        self._pages = MetricsPages(self.core, clock, self._turn_soon, self._member)
        self.state.replication = self._replication = self._member or BrokerReplication(
            self._store, setup.settings, self._security, clock, self._log_moves, self._fail
        )
        outbox = Outbox()
        self._turn_loop = self._make_turn_loop(outbox)
        self._server = self._make_server(outbox)
        few_files = descriptors.few_files(setup.settings.max_connections)
        for warning in (*setup.warnings, *few_files):
            self._log.warning(warning)

    def _make_member(self) -> MemberHost | None:
        """The member of a group that elects its master; None with a fixed role."""
        setup, group = self._setup, self._setup.group
        if group is None:
            return None
        member = MemberHost(
            setup,
            group,
            self.core,
            self._disk,
            self._security,
            self._clock,
            turn_soon=self._turn_soon,
            log_moves=self._log_moves,
            fail=self._fail,
        )
        self.state.members = member
        return member

    def _make_backlog(self) -> Backlog[Channel]:
        return Backlog(
            self._serve,
            self._clock.monotonic,
            long_bytes=LONG_BYTES,
            memory=self.state.memory,
            stalls=self.state.stalls,
        )

    def _make_server(self, outbox: Outbox) -> Server:
        return Server(
            self,
            limits=_connection_limits(self._setup),
            tls=self._security.contexts,
            clock=self._clock,
            feed=self._turn_loop.feed,
            outbox=outbox,
            memory=self.state.memory,
        )

    def _make_turn_loop(self, outbox: Outbox) -> TurnLoop:
        return TurnLoop(
            self.core,
            self._clock,
            outbox,
            self._effect_executor.carry_out,
            self._fail,
            self._replication.turn,
            self._member.lease_deadline if self._member else LeaseDeadline(),
        )

    def _make_effect_executor(self) -> EffectExecutor:
        return EffectExecutor(
            self.core,
            self._clock,
            self._log,
            self._turn_soon,
            self._registrar,
            TopicPropagator(self.state, self._dialer, self._log),
            RemoteRequests(self._dialer),
            partial(_path, self._setup),
            audit_log=self._audit_log,
        )

    # ------------------------------------------------------------------ life cycle

    def show(self, source: Source) -> None:
        """Add metrics of other parts of the process to the broker's page; called before the
        start."""
        self._more_metrics.append(source)

    async def start(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Recover the store and listen. Health is served from the beginning.

        Raises ConfigurationError or StoreRefusedError if the broker cannot start, and StoppedError
        if `is_stopping` becomes true while the store recovers: the next start recovers it again.
        """
        await self._start_health()
        try:
            with self._pulse.work("starting"):
                await self._begin(is_stopping)
        except BaseException:
            await self._acl_file.stop()
            await self._quota_file.stop()
            await self._stop_health()
            asyncio.get_running_loop().remove_reader(self._background.fileno())
            self._background.close()
            self._disk.close()
            await self._replication.stop()
            raise
        self._lag.start()
        self._watchdog.start()
        self._turn_loop.turn()
        await self._registrar.start()
        self._is_serving = True

    async def _begin(self, is_stopping: Callable[[], bool]) -> None:
        """Do the steps of the start that may fail."""
        has_accounts = self._setup.settings.acl_enable
        if has_accounts:
            self.state.access.replace(self._acl_file.load())
        disk_decisions.carry_out(self._setup.root, self._log)
        if self._member is not None:
            self._member.store_opens()
        took = await store_opening.open_store(self._store, self._clock, self._pulse, is_stopping)
        self._log_opened(took)
        if self._member is not None:
            self._member.store_opened()
        self._load_files()
        self.core.begin(self._clock.monotonic(), self._clock.wall_ms())
        self._pages.begin()
        if has_accounts:
            self._acl_file.watch(self.core.services.metadata_replication.accounts_edited)
        self._quota_file.watch()
        gc.freeze()  # tables live long: exempt them from garbage collection
        asyncio.get_running_loop().add_reader(self._background.fileno(), self._turn_soon)
        if self._listens_for_slaves or self._setup.settings.broker_role is BrokerRole.SLAVE:
            await self._replication.start()
        self._log_exposure()
        await self._server.start(listeners(self._setup))

    async def stop(self) -> None:
        """Finish requests in flight, then close: everything acknowledged is on disk."""
        with self._pulse.work("stopping"):
            await self._end()
        await self._stop_health()

    async def _end(self) -> None:
        self._is_serving = False
        self._pages.end()
        await self._acl_file.stop()
        await self._quota_file.stop()
        if self._member is not None and not self.failed.done():
            await self._member.leave()
        await self._registrar.stop()
        self.core.wind_down(self._clock.monotonic(), self._clock.wall_ms())
        self._turn_soon()
        await self._server.stop(GRACE_SECONDS)
        await self._replication.stop()  # after the sends that waited for a slave
        await self._effect_executor.finish()
        await self._audit_log.close()
        asyncio.get_running_loop().remove_reader(self._background.fileno())
        self._turn_loop.end()
        if not self.failed.done():
            now, wall_ms = self._clock.monotonic(), self._clock.wall_ms()
            self.core.stored(self._store.close(now, wall_ms), now, wall_ms)
            self._save_changed_files()  # closing may have advanced the progress of deliveries
        self._background.close()
        self._disk.close()
        self._effect_executor.close()
        self._lag.stop()
        self._watchdog.stop()
        await self._dialer.close()

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        """The actual address of each listener."""
        return self._server.addresses

    @property
    def ha_address(self) -> tuple[str, int] | None:
        """The actual address at which slaves or members connect."""
        return self._replication.address

    @property
    def restart(self) -> asyncio.Future[str] | None:
        """Done when this object has to be stopped and replaced by a new one; None if that never
        happens."""
        return None if self._member is None else self._member.restart

    @property
    def channels(self) -> Sequence[Channel]:
        """The open connections."""
        return self._server.channels

    @property
    def _listens_for_slaves(self) -> bool:
        """Whether there is an HA port: for slaves, or for the members of its group."""
        if self._member is not None:
            return True
        role = self._setup.settings.broker_role
        is_needless = role is BrokerRole.SLAVE or (self._is_alone and role is _ASYNC_MASTER)
        return not (is_needless or self._setup.links.closed_because)

    def _log_exposure(self) -> None:
        """Log what any client that reaches this broker may do."""
        setup = self._setup
        if setup.links.closed_because:
            self._log.info("HA port is closed", reason=setup.links.closed_because)
        protection = Protection(
            is_encrypted=setup.tls.mode is TlsMode.ENFORCING,
            takes_any_slave=self._listens_for_slaves and setup.links.takes_unproven,
        )
        for statement in exposed(setup.settings, protection):
            self._log.warning(statement)

    def _log_opened(self, seconds: float) -> None:
        """Log what recovery found and did."""
        report = self._store.report
        how = "after a clean stop" if report.is_clean else "after a crash"
        self._log.info(f"load {self._setup.root}, store is open {how}", took=f"{seconds:.2f}s")
        if report.kept_tail:
            self._log.warning(f"what was cut off the log is kept in {report.kept_tail}")
        for path in report.removed_tails:
            text = "removed to make room (keptTailsBytesMax), what was cut off the log before"
            self._log.warning(f"{path}: {text}")

    def _load_files(self) -> None:
        for file, load in self.core.loaders.items():
            path = _path(self._setup, file)
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
            try:
                load(content)
            except RemoteError as error:
                raise ConfigurationError(
                    f"{path} cannot be loaded: {error}. Repair the file, or move it away to start"
                    " without its content."
                ) from error

    def _save_changed_files(self) -> None:
        """Save all changed files, when nothing else runs any more."""
        for save in self.state.files.take_due(self._clock.monotonic(), all_touched=True):
            path = _path(self._setup, save.file)
            failure = save_now(path, save.content, is_secret=save.file in SECRET_FILES)
            if failure is not None:
                self._log.error(
                    "saving file failed", path=str(failure.path), cause_text=failure.cause
                )

    async def _start_health(self) -> None:
        """Start the HTTP server of health and metrics, and the exporter if metrics are pushed."""
        settings = self._setup.settings
        sources: list[Source] = [
            partial(server_samples, self._server),
            self._lag.samples,
            self._watchdog.samples,
            self._audit_log.samples,
        ]
        metrics = self._pages.own([*sources, *self._more_metrics])
        self._exporter = exporter(settings, metrics)
        if self._exporter is not None:
            self._exporter.start()
        if settings.metrics_port == 0:
            return
        readiness = Readiness()
        readiness.add("broker", self._unready)
        secret_file = self._setup.links.secret_file
        pages = {} if secret_file is None else {SECRETS_PATH: secret_file.report}
        self._health = HealthServer(
            metrics,
            readiness,
            pages,
            pulse=self._pulse,
            token=token_file(settings.metrics_token_file, self._log.warning),
            more_metrics={exporter4.TABLE.path: self._pages.exporter()},
        )
        await self._health.start(
            settings.metrics_bind_address or settings.bind_address, settings.metrics_port
        )

    async def _stop_health(self) -> None:
        if self._exporter is not None:
            await self._exporter.stop()
        if self._health is not None:
            await self._health.stop()

    def _unready(self) -> str | None:
        """Why this broker does not serve, or its group cannot rely on it."""
        if not self._is_serving:
            return self._pulse.working or "registering with the name servers"
        now = self._clock.monotonic()
        if self._member is not None:
            return self._member.unready(now)
        store = self.state.store
        return store_reason(store.trouble(now), store.dispatch_behind)

    # ------------------------------------------------------------------ called by the server

    def opened(self, channel: Channel, now: float) -> None:
        """Nothing to do before the first request."""

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        """Process all requests of one read in order: at once as far as time allows, the rest from
        the backlog."""
        backlog = self._backlog
        was_empty = backlog.is_empty
        backlog.take(channel, commands, now)
        if was_empty and not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._turn_soon()

    def _serve_backlog(self) -> None:
        """Process one slice of the backlog, and schedule the next one behind other events."""
        backlog = self._backlog
        if not backlog.is_empty:
            backlog.serve_next()
        if not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._turn_soon()

    def _serve(self, channel: Channel, command: Command, now: float) -> None:
        try:
            outcome = self.core.handle(Request(command, channel), now, self._clock.wall_ms())
        except SyncFailedError as error:
            self._fail(error)
            return
        except Exception as error:
            self._effect_executor.log_handler_error(command.code, error, now)
            outcome = Reply(failed(f"{type(error).__name__}: {error}"))
        if isinstance(outcome, Reply):
            channel.respond(command, outcome.command)
        elif isinstance(outcome, Silent):
            channel.release(command)

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self._backlog.drop(channel)
        stalls = self.state.stalls
        began = stalls.now()
        self.core.closed(channel, now, self._clock.wall_ms())
        stalls.ended(began, CLOSING, channel.peer)
        self._turn_soon()

    def _registered(self, name_server: str, told: RegisterBrokerResponse) -> None:
        """Process a name server's answer to a registration."""
        now, wall_ms = self._clock.monotonic(), self._clock.wall_ms()
        self.core.registered(name_server, told, now, wall_ms)
        self._turn_soon()

    def _log_moves(self) -> None:
        self._turn_loop.log_moves()

    def _turn_soon(self) -> None:
        self._turn_loop.turn_soon()

    def _fail(self, error: Exception) -> None:
        """End the broker: a broken store answers no more requests, so the process must end."""
        self._turn_loop.end()
        if not self.failed.done():
            self._log.error("the broker cannot continue", cause=error)
            self.failed.set_exception(error)


def listeners(setup: Setup) -> list[Listener]:
    """The broker's port, and the fast one two below it."""
    settings = setup.settings
    port = settings.listen_port
    fast_port = port - 2 if port > 2 else 0
    return [
        Listener(MAIN_LISTENER, settings.bind_address, port),
        Listener(FAST_LISTENER, settings.bind_address, fast_port),
    ]


def _connection_limits(setup: Setup) -> ServerLimits:
    settings = setup.settings
    session = SessionLimits(idle_seconds=float(settings.server_channel_max_idle_time_seconds))
    try:
        exempt = parse_networks(settings.max_connections_exempt)
    except ConfigurationError as error:
        raise ConfigurationError(f"maxConnectionsExempt: {error}") from None
    connections = ConnectionLimits(
        connections_max=descriptors.connections_allowed(settings.max_connections),
        address_connections_max=settings.max_connections_per_address,
        exempt=exempt,
    )
    return ServerLimits(connections, settings.server_socket_backlog, session)


def _audit_log_of(setup: Setup, clock: Clock) -> AuditLog:
    settings, identity = setup.settings, setup.identity
    file = audit_file(
        settings.audit_log_file, settings.audit_log_file_size, settings.audit_log_file_count
    )
    return AuditLog(f"broker {identity.name}:{identity.broker_id}", file, clock)


def _index_name(clock: Clock) -> str:
    """The name of a new index file, as in Java: the local time as yyyyMMddHHmmssSSS."""
    wall_ms = clock.wall_ms()
    moment = time.localtime(wall_ms // 1000)
    return time.strftime("%Y%m%d%H%M%S", moment) + f"{wall_ms % 1000:03d}"


def _store_of(setup: Setup, clock: Clock) -> tuple[FolderDisk, DiskBackground, Store]:
    """The store, not opened yet, and its disk."""
    try:
        setup.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"storePathRootDir={setup.root}: the folder cannot be created: {error.strerror}"
        ) from error
    disk = FolderDisk(setup.root)
    background = DiskBackground(disk)
    store = Store(
        disk,
        background,
        setup.store,
        new_index_name=partial(_index_name, clock),
        local_hour=_local_hour,
        monotonic=clock.monotonic,
        is_copy=setup.group is not None or setup.settings.broker_role is BrokerRole.SLAVE,
    )
    return disk, background, store


def _security_of(setup: Setup, log: Log) -> LinkSecurity:
    """The security of the replication links, with the certificates of all ports."""
    identity = setup.identity
    group = f"{identity.cluster}/{identity.name}"
    contexts = ServerContexts(setup.tls, log.warning)
    return LinkSecurity(setup.links, contexts, group, identity.broker_id, log.warning)


def _state_of(setup: Setup, store: Store, clock: Clock) -> State:
    state = State(
        setup.settings,
        setup.identity,
        store,
        chance=random.Random().randrange,  # noqa: S311 - it chooses queues, not secrets
        memory_bytes=memory_bytes(),
        now=clock.monotonic(),
        wall_ms=clock.wall_ms(),
        seal=setup.seal,
    )
    state.stalls.clock = clock.monotonic
    state.stats.local_hour = _local_hour
    # exportMetrics looks here for the number of processors.
    processors = {"clientCallbackExecutorThreads": str(os.cpu_count() or 1)}
    state.configuration.unknown = {**processors, **setup.unknown}
    state.configuration.sources = setup.sources
    return state


def _path(setup: Setup, file: File) -> Path:
    if file is File.ACL:
        return Path(setup.settings.acl_file)
    if file is File.QUOTAS and setup.settings.quota_file:
        return Path(setup.settings.quota_file)
    return setup.root / (OVERRIDES if file is File.SETTINGS else f"config/{file.value}")


def _local_hour(wall_ms: int) -> int:
    return time.localtime(wall_ms // 1000).tm_hour
