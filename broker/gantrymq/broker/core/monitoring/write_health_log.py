"""Logs when the store begins to reject messages, and when it accepts them again.

Each producer gets the reason in its answer; the log has one line for the operator. A disk that
moves around a limit is logged once: messages must be accepted for CALM_SECONDS before the rejection
counts as over. Only a master logs this, since a slave rejects all sends.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.state import State

# The store checks the disk as often.
LOOK_SECONDS: Final = 1.0
CALM_SECONDS: Final = 5.0


@final
class WriteHealthLog:
    """The periodic service of one broker that logs rejections."""

    __slots__ = ("_began_at", "_ended_at", "_next_look", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._next_look = state.now
        self._began_at: float | None = None
        self._ended_at: float | None = None

    def deadline(self) -> float:
        return self._next_look

    def expire(self, now: float) -> None:
        self._next_look = now + LOOK_SECONDS
        state = self._state
        refused = state.store.refusal() if state.identity.is_master else None
        if refused is not None:
            self._refused(now, refused.text)
        elif self._began_at is not None:
            self._taken(now, self._began_at)

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""

    def _refused(self, now: float, why: str) -> None:
        self._ended_at = None
        if self._began_at is None:
            self._began_at = now
            self._state.effects.warning(f"writes stopped reason={why}")

    def _taken(self, now: float, began_at: float) -> None:
        if self._ended_at is None:
            self._ended_at = now
        if now - self._ended_at >= CALM_SECONDS:
            seconds = self._ended_at - began_at
            self._began_at = self._ended_at = None
            self._state.effects.info(f"writes resumed after={seconds:.0f}s")
