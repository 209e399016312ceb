"""Closes connections of consumers at a member that cannot follow its master.

Such a member has a full disk, or one that does not answer. It gets no new messages while its
connections are healthy, so its consumers would wait as long as that lasts. Held pulls are therefore
answered without messages and with the master as the broker to continue at, and the connections are
closed. Where the group has one address, it leads to the master by then. Consumers that reconnect
here are disconnected at the next check. The messages that this member has can still be read.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.messages import Channel, CloseChannel
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.state import State

LOOK_SECONDS: Final = 0.5


@final
class ConsumerEviction:
    """The periodic service of one broker that evicts consumers."""

    __slots__ = ("_look_at", "_pull_request_hold", "_state")

    def __init__(self, state: State, pull_request_hold: PullRequestHold) -> None:
        self._pull_request_hold = pull_request_hold
        self._look_at = 0.0 if state.identity.is_elected else NEVER
        self._state = state

    def follow(self) -> None:
        """Start checking, since this broker is a follower now."""
        self._look_at = self._state.now + LOOK_SECONDS

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        """Close the connections of waiting consumers, if there is a master to go to."""
        state = self._state
        if state.identity.is_master:
            self._look_at = NEVER
            return
        self._look_at = now + LOOK_SECONDS
        trouble = state.store.trouble(now) if state.master_address else None
        if trouble is None:
            return
        for channel in self._pull_request_hold.answer_all():
            reason = f"this member cannot follow its master: {trouble}"
            state.effects.add(CloseChannel(channel, reason))

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""
