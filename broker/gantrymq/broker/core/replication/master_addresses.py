"""Tracks the master of a slave with a fixed role: name servers tell its two addresses.

    address for requests    kept in `State.master_address`; the slave copies the tables from it
    HA address              passed to `State.replication`, which copies the log; the setting
                            haMasterAddress overrides it

Name servers return both in their answers to registrations.

Invariants. While the master is unknown or silent, the name servers are asked again within
ASK_SECONDS_MAX, without waiting for the next regular registration. A name server that knows no
master changes nothing while another one knows the master. If none does, the slave stops copying
tables, because another broker may have the address by now. It continues to copy the log from the
last HA address, as in RocketMQ, until it is told another one.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.messages import Channel, Register
from gantrymq.broker.core.state import State
from gantrymq.wire.headers.route import RegisterBrokerResponse

# Between two requests while no master is heard. The wait doubles up to the maximum.
ASK_SECONDS: Final = 1.0
ASK_SECONDS_MAX: Final = 5.0

# How long a name server's answer counts while the master is silent: three requests.
KNOWN_SECONDS: Final = 3 * ASK_SECONDS_MAX

# Tolerance for late heartbeats.
LATE_MS: Final = 2_000


@final
class MasterAddresses:
    """The service of one broker that finds its master. It is idle on a master, and in groups that
    elect their master."""

    __slots__ = (
        "_ask_at",
        "_ha_address",
        "_masters",
        "_pause",
        "_state",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._ask_at = 0.0
        self._pause = ASK_SECONDS
        self._ha_address = state.settings.ha_master_address
        self._masters: dict[str, tuple[str, float]] = {}
        """By name server, the master it last named and the time of that answer."""

    def told(self, name_server: str, told: RegisterBrokerResponse) -> None:
        """Take a name server's answer to a registration."""
        state = self._state
        if state.identity.is_master or state.identity.is_elected:
            return
        master = told.master_addr or ""
        master = "" if master == state.identity.address else master
        self._masters[name_server] = master, state.now
        self._choose_master()
        pinned = state.settings.ha_master_address
        if told.ha_server_addr and not pinned and master == state.master_address:
            self._follow(told.ha_server_addr)

    def _choose_master(self) -> None:
        """Choose the master: the current one while a name server names it, else the first named.

        While the current master is silent, only answers of the last KNOWN_SECONDS count, because a
        name server that is gone would name the old master forever."""
        state = self._state
        since = -NEVER if self._hears_master() else state.now - KNOWN_SECONDS
        said = [master for master, at in self._masters.values() if master and at >= since]
        known = state.master_address
        chosen = known if known in said else next(iter(said), "")
        if chosen != known:
            state.effects.info(f"Update master address from {known or None} to {chosen or None}")
            state.master_address = chosen

    def _follow(self, address: str) -> None:
        if address != self._ha_address:
            self._state.effects.info(
                f"update master address, OLD: {self._ha_address or None} NEW: {address}"
            )
            self._ha_address = address
        self._state.replication.follow(address)

    # ------------------------------------------------------------------ the service

    def deadline(self) -> float:
        identity = self._state.identity
        return NEVER if identity.is_master or identity.is_elected else self._ask_at

    def expire(self, now: float) -> None:
        """Have the log followed, and register again if no master is heard."""
        if self._ha_address:
            self._state.replication.follow(self._ha_address)
        if self._hears_master():
            self._pause = ASK_SECONDS
            self._ask_at = now + ASK_SECONDS
            return
        self._state.effects.add(Register())
        self._ask_at = now + self._pause
        self._pause = min(2 * self._pause, ASK_SECONDS_MAX)

    def closed(self, channel: Channel) -> None:
        """Connections do not matter here."""

    def _hears_master(self) -> bool:
        state = self._state
        following = state.replication.following()
        if not state.master_address or following is None:
            return False
        silent_ms = state.wall_ms - following.last_read_ms
        return silent_ms <= state.settings.ha_send_heartbeat_interval + LATE_MS
