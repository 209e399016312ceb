"""Runs the broker's turns on the event loop.

In each iteration of the event loop the bytes from sockets go into the core, then the core has its
turn, then its effects are executed, and each connection with responses is written to once. One
timer wakes the core at its deadline.

Invariant: responses leave in the iteration of the turn that made them, and in its order. A send is
acknowledged only after the store has accepted it and, where that is promised, flushed it. No send
is acknowledged after this broker's acknowledgement deadline, by a clock read at that moment:
another member may be master by then, with the log that counts. The connections of the waiting
producers are closed, and the producers send again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import Answer, Effect, Release, Replies, Request
from gantrymq.broker.core.send.send_forwarder import SENDS
from gantrymq.ha.lease.lease_deadline import LeaseDeadline
from gantrymq.remoting.events import Reason
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.outbox import Outbox

# The name of a stall that is not attributed to a request, task or service within a turn.
TURN: Final = "turn of the broker"
EFFECTS: Final = "effects of a turn"
REPLICATION: Final = "replication"


@final
class TurnLoop:
    """The turn loop of a broker; the broker's host owns it."""

    __slots__ = (
        "_after_turn",
        "_carry_out",
        "_clock",
        "_core",
        "_fail",
        "_fed_ms",
        "_is_over",
        "_is_turn_due",
        "_lease_deadline",
        "_outbox",
        "_timer",
        "_wakes_at",
    )

    def __init__(
        self,
        core: Broker,
        clock: Clock,
        outbox: Outbox,
        carry_out: Callable[[Effect, float], None],
        fail: Callable[[Exception], None],
        after_turn: Callable[[float], bool],
        lease_deadline: LeaseDeadline | None = None,
    ) -> None:
        """`carry_out` executes all effects other than responses; `fail` is called when the core
        cannot continue, and stops the loop; `after_turn` runs after each turn's responses, and
        returns whether it has more to do. Without a `lease_deadline` there is no acknowledgement
        deadline."""
        self._after_turn: Callable[[float], bool] = after_turn
        self._lease_deadline: LeaseDeadline = lease_deadline or LeaseDeadline()
        self._core: Broker = core
        self._clock: Clock = clock
        self._outbox: Outbox = outbox
        self._carry_out: Callable[[Effect, float], None] = carry_out
        self._fail: Callable[[Exception], None] = fail
        self._fed_ms: int = 0
        self._is_over: bool = False
        self._is_turn_due: bool = False
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at: float = NEVER

    def end(self) -> None:
        """Stop running turns."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def feed(self, channel: Channel, data: bytes, start: int, now: float) -> int:
        """Take sends from a buffer for the next turn; returns where the first one begins that was
        not taken."""
        if not self._is_turn_due or not self._fed_ms:
            self._fed_ms = self._clock.wall_ms()  # read once per iteration
        position, count = self._core.feed(channel, data, start, now, self._fed_ms)
        if count:
            channel.taken(count, position - start)
            self.turn_soon()
        return position

    def log_moves(self) -> None:
        """Tell the core that the log grew by replication, or that a follower acknowledged more."""
        self._core.log_moves()
        self.turn_soon()

    def turn_soon(self) -> None:
        """Schedule one turn for everything that happens in this iteration of the event loop."""
        if not self._is_turn_due:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self.turn)

    def turn(self) -> None:
        """Run a turn now."""
        self._is_turn_due = False
        self._fed_ms = 0
        if self._is_over:
            return
        core = self._core
        now = self._clock.monotonic()
        stalls = core.state.stalls
        began, named = now, stalls.seconds  # the same clock, so it is not read again
        try:
            core.turn(now, self._clock.wall_ms())
        except Exception as error:
            self._fail(error)
            return
        began = stalls.ended(began + (stalls.seconds - named), TURN)
        effects = core.take_effects()
        if effects:
            self._carry_out_all(effects, now)
            began = stalls.ended(began, EFFECTS)
        if self._after_turn(now):
            self.turn_soon()
        stalls.ended(began, REPLICATION)
        self._wake_by(core.deadline(), now)

    def _carry_out_all(self, effects: list[Effect], now: float) -> None:
        self._outbox.gather()
        may_acknowledge = self._clock.monotonic() < self._lease_deadline.until
        try:
            for effect in effects:
                if may_acknowledge or not self._close_instead(effect):
                    self._do(effect, now)
        finally:
            self._outbox.flush()

    def _close_instead(self, effect: Effect) -> bool:
        """Close the connection instead of acknowledging a send; returns whether the effect was such
        an acknowledgement. A send that a slave forwarded is acknowledged by its master, and so is
        not affected."""
        if isinstance(effect, Replies):
            channel = effect.channel
            assert isinstance(channel, Channel)
            channel.respond_taken(effect.count, effect.taken_bytes, b"")
        elif isinstance(effect, Answer) and self._acknowledges(effect.request):
            channel = _channel(effect.request)
            channel.release(effect.request.command)
        else:
            return False
        channel.close(
            Reason.CLOSED_HERE, "this broker's lease has expired: it may not acknowledge messages"
        )
        return True

    def _acknowledges(self, request: Request) -> bool:
        return request.command.code in SENDS and self._core.state.identity.is_master

    def _do(self, effect: Effect, now: float) -> None:
        if isinstance(effect, Replies):
            channel = effect.channel
            assert isinstance(channel, Channel)
            channel.respond_taken(effect.count, effect.taken_bytes, effect.frames)
        elif isinstance(effect, Answer):
            _channel(effect.request).respond(effect.request.command, effect.command)
        elif isinstance(effect, Release):
            _channel(effect.request).release(effect.request.command)
        else:
            self._carry_out(effect, now)

    def _wake_by(self, deadline: float, now: float) -> None:
        if deadline <= now:
            self.turn_soon()
        elif deadline < self._wakes_at or self._timer is None:
            if self._timer is not None:
                self._timer.cancel()
            self._wakes_at = deadline
            self._timer = asyncio.get_running_loop().call_later(deadline - now, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._wakes_at = NEVER
        self.turn()


def _channel(request: Request) -> Channel:
    channel = request.channel
    assert isinstance(channel, Channel)
    return channel
