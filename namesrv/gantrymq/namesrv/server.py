"""Runs the name server: connects its core with sockets, files and the clock.

The core gets each request of a read, and then its effects are carried out once. One timer calls the
core at its deadline. Files are saved in a thread, and the outcome is reported to the core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.configuration.properties import rewrite_properties
from gantrymq.base.errors import ConfigurationError
from gantrymq.base.memory_account import MemoryAccount, limit_of
from gantrymq.base.stalls import StallWatch
from gantrymq.base.tasks import SlicedTask
from gantrymq.namesrv import metrics
from gantrymq.namesrv.configuration import Setup, listeners, load_kv
from gantrymq.namesrv.core.exposure import exposed
from gantrymq.namesrv.core.handlers.broker_requests import LONG_BYTES
from gantrymq.namesrv.core.messages import (
    Audit,
    CloseChannel,
    DelayChannel,
    Effect,
    File,
    LogLine,
    Notify,
    Outcome,
    Reply,
    Request,
    SaveKv,
    SaveSettings,
    Silent,
    Working,
)
from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.namesrv.core.state import Configuration
from gantrymq.namesrv.limited_log import LimitedLog
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import RequestError
from gantrymq.remoting.refusal import failed
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import LoopLag, Metrics, server_samples
from gantrymq.runtime.logs import Log
from gantrymq.runtime.memory import memory_bytes
from gantrymq.runtime.net.backlog import Backlog
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.net.net import Server
from gantrymq.runtime.net.server_limits import connection_limits
from gantrymq.runtime.security.acl_file import AclFile
from gantrymq.runtime.security.bearer_token import token_file
from gantrymq.runtime.security.certificates import ServerContexts, TlsMode
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.storage import descriptors
from gantrymq.runtime.storage.audit_log import AuditLog, audit_file
from gantrymq.runtime.storage.files import FileSaver, SaveFailed
from gantrymq.runtime.watchdog import Watchdog
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

# Headers of requests to a name server have a few hundred bytes, so a sixteenth of a broker's bound.
REQUEST_HEADER_BYTES_MAX: Final = 256 * 1024

# How long connections may finish requests in flight when the server stops.
GRACE_SECONDS: Final = 3.0

# Java gives a notice 300 ms too; brokers that miss it learn the change by their next request.
NOTICE_SECONDS: Final = 0.3

# Notices in flight; a group has a handful of members. Further notices are dropped and logged.
NOTICES_MAX: Final = 256

# These visit all topics or all brokers: half a second each with 500 000 of them.
LONG_CODES: Final = frozenset(
    {
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    }
)

# Names of stalls that are not caused by one request.
EFFECTS: Final = "effects of requests"
EXPIRY: Final = "end of brokers"


@final
class NameServerHost:
    """Owns all parts of a running name server. Call `start`, then `stop`."""

    def __init__(self, setup: Setup, clock: Clock = SYSTEM_CLOCK) -> None:
        settings = setup.settings
        self._settings = settings
        self._log = Log("namesrv")
        self._limited_log = LimitedLog(self._log, clock)
        self._clock = clock
        self.memory = MemoryAccount(limit_of(settings.max_peer_memory, memory_bytes()))
        namespaces = load_kv(Path(settings.kv_config_path))
        self.core = NameServer(
            Configuration(settings), namespaces, clock.monotonic(), memory=self.memory
        )
        self._server = Server(
            self,
            limits=connection_limits(settings, REQUEST_HEADER_BYTES_MAX),
            tls=ServerContexts(setup.tls, self._log.warning),
            clock=clock,
            memory=self.memory,
        )
        self._dialer = Dialer(
            tls=ClientContexts.of(setup.client_tls, self._log.warning),
            clock=clock,
        )
        self._acl_file = AclFile(Path(settings.acl_file), self._log)
        self.stalls = StallWatch(clock.monotonic)
        self._backlog = self._make_backlog()
        self._watchdog = Watchdog(self.stalls, self._log)
        self._saver = FileSaver()
        self._audit_log = AuditLog("name server", audit_file(settings), clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = NEVER
        self._lag = LoopLag()
        self._health: HealthServer | None = None
        self._is_serving = False
        self._is_encrypted = setup.tls.mode is TlsMode.ENFORCING
        few_files = descriptors.few_files(settings.max_connections)
        for warning in (*setup.warnings, *few_files):
            self._log.warning(warning)

    def _make_backlog(self) -> Backlog[Channel]:
        return Backlog(
            self._serve,
            self._clock.monotonic,
            LONG_CODES,
            LONG_BYTES,
            memory=self.memory,
            stalls=self.stalls,
        )

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Start listening; raises ConfigurationError if that is impossible."""
        guard = self.core.guard
        if guard is not None:
            guard.replace(self._acl_file.load())
        try:
            await self._server.start(listeners(self._settings))
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}; stop what listens there, or choose another with --set listenPort=PORT"
                " (bindAddress, listeners)"
            ) from error
        try:
            await self._start_health()
        except BaseException:
            await self._server.stop(0.0)
            raise
        if guard is not None:
            self._acl_file.watch(guard.replace)
        self._lag.start()
        self._watchdog.start()
        for statement in exposed(self._settings, is_encrypted=self._is_encrypted):
            self._log.warning(statement)
        self._is_serving = True
        self._after(self._clock.monotonic())

    async def stop(self) -> None:
        """Finish requests in flight, then close; changes that were acknowledged are on disk."""
        self._is_serving = False
        await self._acl_file.stop()
        await self._finish_writes()
        await self._server.stop(GRACE_SECONDS)
        await self._finish_writes()
        await self._audit_log.close()
        if self._timer is not None:
            self._timer.cancel()
        self._limited_log.stop()
        self._lag.stop()
        self._watchdog.stop()
        await self._dialer.close()
        if self._health is not None:
            await self._health.stop()
        self._saver.close()

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        """The bound address of each listener."""
        return self._server.addresses

    async def _start_health(self) -> None:
        settings, port = self._settings, self._settings.metrics_port
        if port == 0:
            return
        registry = Metrics()
        registry.add(partial(metrics.samples, self.core))
        registry.add(partial(server_samples, self._server))
        registry.add(self._lag.samples)
        registry.add(self._watchdog.samples)
        registry.add(self._audit_log.samples)
        readiness = Readiness()
        readiness.add("listeners", lambda: None if self._is_serving else "not listening")
        token = token_file(settings.metrics_token_file, self._log.warning)
        self._health = HealthServer(registry, readiness, token=token)
        await self._health.start(settings.metrics_bind_address or settings.bind_address, port)

    async def _finish_writes(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    # ------------------------------------------------------------------ what the server calls

    def opened(self, channel: Channel, now: float) -> None:
        """Nothing to do before the first request."""

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        """Serve the requests of one read in order; what does not fit into a slice is queued."""
        backlog = self._backlog
        was_empty = backlog.is_empty
        backlog.take(channel, commands, now)
        if was_empty and not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._after(now)

    def _serve(self, channel: Channel, command: Command, now: float) -> SlicedTask[None] | None:
        try:
            outcome = self.core.handle(Request(command, channel), now, self._clock.wall_ms())
        except Exception as error:
            outcome = self._broken(command, error)
        if isinstance(outcome, Working):
            return self._finish(channel, command, outcome)
        _answer(channel, command, outcome)
        return None

    def _finish(self, channel: Channel, command: Command, working: Working) -> SlicedTask[None]:
        try:
            outcome = yield from working.task
        except Exception as error:
            outcome = self._broken(command, error)
        _answer(channel, command, outcome)

    def _broken(self, command: Command, error: Exception) -> Reply:
        text = f"a request of code {command.code} broke its handler"
        self._limited_log.error("broken handler", text, cause=error)
        return Reply(failed(f"{type(error).__name__}: {error}"))

    def _serve_backlog(self) -> None:
        """Serve one slice of the queue; schedule the next one after other callbacks."""
        backlog = self._backlog
        if not backlog.is_empty:
            backlog.serve_next()
        if not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._after(self._clock.monotonic())

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self._backlog.drop(channel)
        began = self.stalls.now()
        self.core.closed(channel, now)
        self.stalls.ended(began, EXPIRY, channel.peer)
        self._after(now)

    # ------------------------------------------------------------------ effects and time

    def _after(self, now: float) -> None:
        """Carry out the core's effects, and set the timer to its deadline."""
        began = self.stalls.now()
        for effect in self.core.take_effects():
            self._carry_out(effect, now)
        self.stalls.ended(began, EFFECTS)
        deadline = self.core.deadline()
        if deadline < self._wakes_at:
            if self._timer is not None:
                self._timer.cancel()
            self._wakes_at = deadline
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, deadline - now), self._wake)

    def _wake(self) -> None:
        self._wakes_at = NEVER
        now = self._clock.monotonic()
        self.core.expire(now)
        self.stalls.ended(now, EXPIRY)
        self._after(now)

    def _carry_out(self, effect: Effect, now: float) -> None:
        if isinstance(effect, LogLine):
            self._limited_log.write(effect, now)
        elif isinstance(effect, CloseChannel):
            assert isinstance(effect.channel, Channel)
            effect.channel.close(Reason.CLOSED_HERE, effect.reason)
        elif isinstance(effect, DelayChannel):
            assert isinstance(effect.channel, Channel)
            effect.channel.delay(effect.seconds)
        elif isinstance(effect, Notify):
            self._own(self._notify(effect))
        elif isinstance(effect, Audit):
            self._audit_log.write(effect.record)
        elif isinstance(effect, SaveKv):
            self._own(self._save_kv(effect))
        else:
            self._own(self._save_settings(effect))

    def _own(self, work: Coroutine[None, None, None]) -> None:
        """Run a task. Every task ends by itself: saves with the disk, notices with their
        deadline."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._log.error("effect failed", cause=failure)

    async def _notify(self, notice: Notify) -> None:
        if len(self._tasks) > NOTICES_MAX:
            self._limited_log.warning(
                "notice dropped, too many on their way", address=notice.address
            )
            return
        try:
            connection = self._dialer.connection(notice.address)
            await connection.notify(notice.command, NOTICE_SECONDS)
        except (RequestError, ConfigurationError) as error:
            self._limited_log.warning("broker not told of its lowest id", error=error)

    async def _save_kv(self, save: SaveKv) -> None:
        path = Path(self.core.state.settings.kv_config_path)
        self._written(File.KV, await self._saver.save(path, save.content))

    async def _save_settings(self, save: SaveSettings) -> None:
        path = Path(self.core.state.settings.config_store_path)
        try:
            content = rewrite_properties(await asyncio.to_thread(_content, path), save.changes)
        except (OSError, ValueError, RuntimeError, ConfigurationError) as error:
            # The file may have been damaged by hand since the start.
            self._written(File.SETTINGS, SaveFailed(path, f"{path}: {error}"))
            return
        self._written(File.SETTINGS, await self._saver.save(path, content))

    def _written(self, file: File, failure: SaveFailed | None) -> None:
        cause = None if failure is None else failure.cause
        for request, reply in self.core.written(file, cause):
            assert isinstance(request.channel, Channel)
            request.channel.respond(request.command, reply.command)
        self._after(self._clock.monotonic())


def _answer(channel: Channel, command: Command, outcome: Outcome) -> None:
    if isinstance(outcome, Reply):
        channel.respond(command, outcome.command)
    elif isinstance(outcome, Silent):
        channel.release(command)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
