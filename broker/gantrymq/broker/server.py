"""Runs the broker: connects its core with sockets, the disk, files and the clock.

This module has the life cycle; request_receiver.py has the callbacks of the network server, and
turn_loop.py runs the turns. Completed disk operations wake the event loop by a file descriptor.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

from gantrymq.broker import store_opening
from gantrymq.broker.broker_health import BrokerHealth
from gantrymq.broker.broker_parts import (
    audit_log_of,
    link_security_of,
    listeners,
    path_of,
    state_of,
    store_of,
)
from gantrymq.broker.configuration import Setup
from gantrymq.broker.core.access.exposure import Protection, exposed
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerRole
from gantrymq.broker.core_files import load_files, save_changed_files
from gantrymq.broker.effect_executor import EffectExecutor
from gantrymq.broker.links.replication import BrokerReplication
from gantrymq.broker.member.member_host import MemberHost
from gantrymq.broker.metrics_pages import MetricsPages
from gantrymq.broker.peers.registrar import Registrar
from gantrymq.broker.peers.remote_requests import RemoteRequests
from gantrymq.broker.peers.topic_propagator import TopicPropagator
from gantrymq.broker.readiness import store_reason
from gantrymq.broker.request_receiver import RequestReceiver
from gantrymq.broker.setup import disk_decisions
from gantrymq.broker.turn_loop import TurnLoop
from gantrymq.ha.lease.lease_deadline import LeaseDeadline
from gantrymq.metrics.samples import Source
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.http.metrics import LoopLag, server_samples
from gantrymq.runtime.logs import Log
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.net.net import Server
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.net.server_limits import connection_limits
from gantrymq.runtime.pulse import Pulse
from gantrymq.runtime.security.acl_file import AclFile
from gantrymq.runtime.security.certificates import TlsMode
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.storage import descriptors
from gantrymq.runtime.storage.watched_file import WatchedFile
from gantrymq.runtime.watchdog import Watchdog
from gantrymq.wire.headers.route import RegisterBrokerResponse

# How long connections may finish requests in flight when the broker stops.
GRACE_SECONDS: Final = 3.0

_ASYNC_MASTER: Final = BrokerRole.ASYNC_MASTER


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
        self._pulse = Pulse(clock)
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._disk, self._background, self._store = store_of(setup, clock)
        self._dialer = Dialer(
            tls=ClientContexts.of(setup.client_tls, self._log.warning),
            clock=clock,
            credentials=setup.credentials,
        )
        self._acl_file = AclFile(Path(setup.settings.acl_file), self._log)
        self._path_of = partial(path_of, setup)
        self.state = state_of(setup, self._store, clock)
        self._watchdog = Watchdog(self.state.stalls, self._log)
        self.core = Broker(self.state)
        quota_file = self._path_of(File.QUOTAS)
        self._quota_file = WatchedFile(quota_file, self._log, self.core.quotas_edited)
        self._registrar = Registrar(self.state, self._dialer, self._log, self._registered)
        self._audit_log = audit_log_of(setup, clock)
        self._effect_executor = self._make_effect_executor()
        self._security = link_security_of(setup, self._log)
        self._member = self._make_member()
        self._pages = MetricsPages(self.core, clock, self._turn_soon, self._member)
        self._health = BrokerHealth(setup, self._pages, self._pulse, self._log, self._unready)
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

    def _make_server(self, outbox: Outbox) -> Server:
        requests = RequestReceiver(
            self.core, self._clock, self._effect_executor, self._turn_soon, self._fail
        )
        return Server(
            requests,
            limits=connection_limits(self._setup.settings),
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
            self._path_of,
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
        await self._health.start(self._sources())
        try:
            with self._pulse.work("starting"):
                await self._begin(is_stopping)
        except BaseException:
            await self._acl_file.stop()
            await self._quota_file.stop()
            await self._health.stop()
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
        store_opening.log_opened(self._store, self._setup.root, took, self._log)
        if self._member is not None:
            self._member.store_opened()
        load_files(self.core, self._path_of)
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
        await self._health.stop()

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
            # closing may have advanced the progress of deliveries
            save_changed_files(self.core, self._path_of, self._log, now)
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

    def _sources(self) -> list[Source]:
        """The metrics that the core does not have."""
        return [
            partial(server_samples, self._server),
            self._lag.samples,
            self._watchdog.samples,
            self._audit_log.samples,
            *self._more_metrics,
        ]

    def _unready(self) -> str | None:
        """Why this broker does not serve, or its group cannot rely on it."""
        if not self._is_serving:
            return self._pulse.working or "registering with the name servers"
        now = self._clock.monotonic()
        if self._member is not None:
            return self._member.unready(now)
        store = self.state.store
        return store_reason(store.trouble(now), store.dispatch_behind)

    # ------------------------------------------------------------------ called by the parts

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
