"""Replication as the broker has it, by its role: slaves that connect, or a master that is followed.

A slave of ours has nobody behind it: slaves follow masters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.broker.replication_dialer import ReplicationDialer
from gantrymq.broker.replication_listener import ReplicationListener
from gantrymq.ha.followers import Followers
from gantrymq.ha.settings import HaSettings
from gantrymq.ha.status import FollowerStatus, FollowingStatus
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log
from gantrymq.store.engine import Store


@final
class BrokerReplication:
    """Of one broker. `start` and `stop` once, `turn` behind each of the core's."""

    def __init__(
        self,
        store: Store,
        settings: BrokerSettings,
        clock: Clock,
        turn_soon: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        chosen, log = ha_settings(settings), Log("replication")
        self._settings = settings
        self._followers: Followers | None = None
        self._dialer: ReplicationDialer | None = None
        self._listener: ReplicationListener | None = None
        if settings.broker_role is BrokerRole.SLAVE:
            self._dialer = ReplicationDialer(store, chosen, clock, turn_soon, fail, log)
        else:
            self._followers = Followers(store, chosen)
            self._listener = ReplicationListener(self._followers, clock.monotonic, turn_soon, log)

    async def start(self) -> tuple[str, int] | None:
        """Where slaves are listened for; None: nowhere."""
        if self._listener is None:
            return None
        return await self._listener.start(
            self._settings.bind_address, self._settings.ha_listen_port
        )

    async def stop(self) -> None:
        """No slave, no master any more."""
        if self._listener is not None:
            await self._listener.stop()
        if self._dialer is not None:
            await self._dialer.stop()

    def turn(self, now: float) -> bool:
        """What the turn appended goes out; whether there is more to do at once."""
        return self._listener is not None and self._listener.turn(now)

    # ------------------------------------------------------------------ what the core sees

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return () if self._followers is None else self._followers.statuses(now)

    def following(self) -> FollowingStatus | None:
        return None if self._dialer is None else self._dialer.status()

    def follow(self, address: str) -> None:
        if self._dialer is not None:
            self._dialer.follow(address)


def ha_settings(settings: BrokerSettings) -> HaSettings:
    """What of these is replication's."""
    return HaSettings(
        heartbeat_seconds=settings.ha_send_heartbeat_interval / 1000,
        silence_seconds=settings.ha_housekeeping_interval / 1000,
        batch_bytes=settings.ha_transfer_batch_size,
        in_sync_bytes=settings.ha_max_gap_not_in_sync,
        fall_behind_bytes=settings.ha_slave_fallbehind_max,
        waits=settings.broker_role is BrokerRole.SYNC_MASTER,
    )
