"""Whom a slave follows: its master's two addresses, as name servers tell them to a registration.

    master     where the master takes requests: the slave copies its tables from there
    its HA address goes to `State.replication`, which copies the log; haMasterAddress outranks it

Invariants. As long as the master is not known or not heard, name servers are asked again within
ASK_SECONDS_MAX, never only with the next registration. A name server that knows of no master, while
another one does, changes nothing; where none does, tables are not copied any more, for somebody
else may have the address by now. The log is followed where it was last, as in Java: only another
address ends that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core.messages import Channel, Register

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State
    from gantrymq.wire.headers.route import RegisterBrokerResponse

# Between two questions while there is no master to be heard: each wait is twice the last one.
ASK_SECONDS: Final = 1.0
ASK_SECONDS_MAX: Final = 5.0

# What a name server said of a master that is not heard counts for so long: three questions.
KNOWN_SECONDS: Final = 3 * ASK_SECONDS_MAX

# A sign of life may be late by so much.
LATE_MS: Final = 2_000

NEVER: Final = float("inf")


@final
class Following:
    """Of one broker; a master follows nobody, and a member whom its group elected."""

    __slots__ = (
        "_ask_at",
        "_ha_address",
        "_masters",
        "_pause",
        "_state",
        "master",
        "master_flushed",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._ask_at = 0.0
        self._pause = ASK_SECONDS
        self._ha_address = state.settings.ha_master_address
        self._masters: dict[str, tuple[str, float]] = {}
        """What each name server said last, and when."""
        self.master = ""
        """Empty while there is none."""
        self.master_flushed = 0
        """What an administrator said of the master's disk; it is shown, and means nothing here."""

    def told(self, name_server: str, told: RegisterBrokerResponse) -> None:
        """What a name server answered a registration."""
        state = self._state
        if state.identity.is_master or state.identity.is_elected:
            return
        master = told.master_addr or ""
        master = "" if master == state.identity.address else master
        self._masters[name_server] = master, state.now
        self._choose_master()
        pinned = state.settings.ha_master_address
        if told.ha_server_addr and not pinned and master == self.master:
            self._follow(told.ha_server_addr)

    def _choose_master(self) -> None:
        """The one there was, as long as somebody knows it; where it is not heard, of those who
        were asked since: a name server that is gone would know it for ever."""
        since = -NEVER if self._hears_master() else self._state.now - KNOWN_SECONDS
        said = [master for master, at in self._masters.values() if master and at >= since]
        chosen = self.master if self.master in said else next(iter(said), "")
        if chosen != self.master:
            self._state.effects.info(
                f"Update master address from {self.master or None} to {chosen or None}"
            )
            self.master = chosen

    def _follow(self, address: str) -> None:
        if address != self._ha_address:
            self._state.effects.info(
                f"update master address, OLD: {self._ha_address or None} NEW: {address}"
            )
            self._ha_address = address
        self._state.replication.follow(address)

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        identity = self._state.identity
        return NEVER if identity.is_master or identity.is_elected else self._ask_at

    def expire(self, now: float) -> None:
        """Follow, and ask again where there is no master to be heard."""
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
        """Nobody's connection matters here."""

    def _hears_master(self) -> bool:
        state = self._state
        following = state.replication.following()
        if not self.master or following is None:
            return False
        silent_ms = state.wall_ms - following.last_read_ms
        return silent_ms <= state.settings.ha_send_heartbeat_interval + LATE_MS
