"""Runs classic replication: listens for slaves as a master, or follows the master as a slave.

A slave has no slaves of its own: slaves follow masters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.broker.links.master_connection import Copier
from gantrymq.broker.links.replication_dialer import ReplicationDialer
from gantrymq.broker.links.replication_listener import ReplicationListener
from gantrymq.broker.links.slave_connections import SlaveConnections
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.classic.log_senders import LogSenders
from gantrymq.ha.settings import HaSettings
from gantrymq.ha.status import FollowerStatus, FollowingStatus
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log
from gantrymq.store.engine import Store


@final
class BrokerReplication:
    """The replication of one broker. The server calls `start` and `stop` once, and `turn` after
    each turn of the core."""

    def __init__(
        self,
        store: Store,
        settings: BrokerSettings,
        security: LinkSecurity,
        clock: Clock,
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.address: tuple[str, int] | None = None
        """The address at which slaves connect; None if there is no HA port."""
        self._chosen = ha_settings(settings)
        self._dialer: ReplicationDialer | None = None
        self._clock = clock
        self._listener: ReplicationListener | None = None
        self._log = Log("replication")
        self._security = security
        self._settings = settings
        self._slaves: SlaveConnections | None = None
        self._store = store
        self._log_moves = log_moves
        if settings.broker_role is BrokerRole.SLAVE:
            copier = Copier(store, self._chosen, security, clock, log_moves, fail)
            self._dialer = ReplicationDialer(copier, self._log)

    async def start(self) -> None:
        """Listen for slaves; the store is open, and nothing was appended yet."""
        if self._dialer is not None:
            return
        followers = LogSenders(self._store, self._chosen)
        slaves = SlaveConnections(
            followers,
            self._security,
            self._chosen.silence_seconds,
            self._clock,
            self._log_moves,
            self._log,
        )
        listener, settings = ReplicationListener(slaves), self._settings
        self.address = await listener.start(
            settings.ha_bind_address or settings.bind_address, settings.ha_listen_port
        )
        self._listener, self._slaves = listener, slaves

    async def stop(self) -> None:
        """Close all connections to slaves or to the master."""
        if self._listener is not None:
            await self._listener.stop()
        if self._dialer is not None:
            await self._dialer.stop()

    def turn(self, now: float) -> bool:
        """Send what the turn appended; returns whether there is more to do at once."""
        return self._slaves is not None and self._slaves.turn(now)

    # ------------------------------------------------------------------ interface to the core

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return () if self._slaves is None else self._slaves.followers.statuses(now)

    def following(self) -> FollowingStatus | None:
        return None if self._dialer is None else self._dialer.status()

    def follow(self, address: str) -> None:
        if self._dialer is not None:
            self._dialer.follow(address)


def ha_settings(settings: BrokerSettings) -> HaSettings:
    """The settings of replication, from those of the broker."""
    return HaSettings(
        heartbeat_seconds=settings.ha_send_heartbeat_interval / 1000,
        silence_seconds=settings.ha_housekeeping_interval / 1000,
        batch_bytes=settings.ha_transfer_batch_size,
        in_sync_bytes=settings.ha_max_gap_not_in_sync,
        fall_behind_bytes=settings.ha_slave_fallbehind_max,
        waits=settings.broker_role is BrokerRole.SYNC_MASTER,
    )
