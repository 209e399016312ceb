"""Passes the requests of connections to the broker's core, and answers what it answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import Reply, Request, Silent
from gantrymq.broker.effect_executor import EffectExecutor
from gantrymq.remoting.events import Reason
from gantrymq.remoting.refusal import failed
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.net.backlog import Backlog
from gantrymq.runtime.net.channel import Channel
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.wire.command import Command

# Messages of megabytes are stored quickly, but parsing as much JSON takes tens of milliseconds.
LONG_BYTES: Final = 1 << 20

# The name of a stall at the end of a connection.
CLOSING: Final = "end of a connection"


@final
class RequestReceiver:
    """Has the callbacks of one broker's network server. Requests that do not fit into a slice of
    time wait in the backlog."""

    __slots__ = ("_backlog", "_clock", "_core", "_effect_executor", "_fail", "_turn_soon")

    def __init__(
        self,
        core: Broker,
        clock: Clock,
        effect_executor: EffectExecutor,
        turn_soon: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """`turn_soon` schedules the broker's next turn; `fail` ends the broker."""
        self._core = core
        self._clock = clock
        self._effect_executor = effect_executor
        self._turn_soon = turn_soon
        self._fail = fail
        self._backlog: Backlog[Channel] = Backlog(
            self._serve,
            clock.monotonic,
            long_bytes=LONG_BYTES,
            memory=core.state.memory,
            stalls=core.state.stalls,
        )

    def opened(self, channel: Channel, now: float) -> None:
        """Nothing to do before the first request."""

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        """Process all requests of one read in order: at once as far as time allows, the rest from
        the backlog."""
        backlog = self._backlog
        was_empty = backlog.is_empty
        backlog.take(channel, commands, now)
        if was_empty and not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._turn_soon()

    def _serve_backlog(self) -> None:
        """Process one slice of the backlog, and schedule the next one behind other events."""
        backlog = self._backlog
        if not backlog.is_empty:
            backlog.serve_next()
        if not backlog.is_empty:
            asyncio.get_running_loop().call_soon(self._serve_backlog)
        self._turn_soon()

    def _serve(self, channel: Channel, command: Command, now: float) -> None:
        try:
            outcome = self._core.handle(Request(command, channel), now, self._clock.wall_ms())
        except SyncFailedError as error:
            self._fail(error)
            return
        except Exception as error:
            self._effect_executor.log_handler_error(command.code, error, now)
            outcome = Reply(failed(f"{type(error).__name__}: {error}"))
        if isinstance(outcome, Reply):
            channel.respond(command, outcome.command)
        elif isinstance(outcome, Silent):
            channel.release(command)

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self._backlog.drop(channel)
        stalls = self._core.state.stalls
        began = stalls.now()
        self._core.closed(channel, now, self._clock.wall_ms())
        stalls.ended(began, CLOSING, channel.peer)
        self._turn_soon()
