"""Says in the log when the store begins to refuse messages, and when it takes them again.

Each producer is told why in its answer; whoever looks after the broker gets a line for all of them.
A disk around a limit is told of once: it has to be well for CALM_SECONDS before that is over. Only
a master says so: a slave refuses all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core.messages import Channel

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# As often as the store looks at the disk.
LOOK_SECONDS: Final = 1.0
CALM_SECONDS: Final = 5.0


@final
class Refusals:
    """Of one broker."""

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
        """Nothing belongs to a connection."""

    def _refused(self, now: float, why: str) -> None:
        self._ended_at = None
        if self._began_at is None:
            self._began_at = now
            self._state.effects.warning(f"messages are refused from now on: {why}")

    def _taken(self, now: float, began_at: float) -> None:
        if self._ended_at is None:
            self._ended_at = now
        if now - self._ended_at >= CALM_SECONDS:
            seconds = self._ended_at - began_at
            self._began_at = self._ended_at = None
            self._state.effects.info(
                f"messages are taken again, they were refused for {seconds:.0f} s"
            )
