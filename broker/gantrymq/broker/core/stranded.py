"""Consumers at a member that cannot follow its master: its disk is full, or does not answer.

Nothing more comes here, while their connections are well: they would wait for as long as that
lasts. So pulls that wait are answered, with nothing and the master as the place to go on at, and
their connections are closed: where the group has one address it leads to the master by then.
Whoever is led here once more is sent away at the next look. What is here can be read all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core.messages import Channel, CloseChannel

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

LOOK_SECONDS: Final = 0.5

NEVER: Final = float("inf")


@final
class Stranded:
    """Of one broker."""

    __slots__ = ("_look_at", "_state")

    def __init__(self, state: State) -> None:
        self._look_at = 0.0 if state.identity.is_elected else NEVER
        self._state = state

    def follow(self) -> None:
        """We are not the master from now on."""
        self._look_at = self._state.now + LOOK_SECONDS

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        """Send them away, if there is somebody to go to."""
        state = self._state
        if state.identity.is_master:
            self._look_at = NEVER
            return
        self._look_at = now + LOOK_SECONDS
        trouble = state.store.trouble(now) if state.following.master else None
        if trouble is None:
            return
        for channel in state.holds.answer_all():
            reason = f"this member cannot follow its master: {trouble}"
            state.effects.add(CloseChannel(channel, reason))

    def closed(self, channel: Channel) -> None:
        """Nobody's connection matters here."""
