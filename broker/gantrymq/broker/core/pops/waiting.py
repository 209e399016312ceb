"""Requests that wait until there is something to pop: long polling.

    hold -> something arrives, or is given back: look again
         -> found: answered; one look that finds nothing ends the round for its group
         -> time is up: looked at once more, and answered with that there is nothing

Messages of a topic and those that its group gets again wake the same requests.

Invariants: a request is answered once, or released when its connection ends. What happens while it
is being looked at has it looked at again. What happens costs as much as there are requests, spread
over turns: what one turn answers lies in memory until it is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, final

from gantrymq.base.errors import GantryError
from gantrymq.broker.core import held_bytes
from gantrymq.broker.core.figures.requests import HELD
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pops import handles
from gantrymq.broker.core.steps import Steps
from gantrymq.remoting.refusal import failed
from gantrymq.wire.command import Command

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# 2 kB each. Beyond it clients are told to come back later.
WAITING_MAX: Final = 50_000

# A client has one for each group and topic that it pops. One that keeps asking leaves room for the
# others.
CHANNEL_WAITING_MAX: Final = 10_000

# Clients ask for 15 to 30 s; nobody should be held for years.
SECONDS_MAX: Final = 300.0

# How late a request may be told that there is nothing: all are gone through to find those.
PASS_SECONDS: Final = 0.5

# A look takes some 120 us: nobody else is kept waiting for longer than a pause of the loop may be.
LOOKS_A_TURN: Final = 250
ANSWERED_BYTES_A_TURN: Final = 8 << 20

NEVER: Final = float("inf")

Look: TypeAlias = Callable[[bool], "Steps[Reply | None]"]
"""Whether there is something now; the answer either way where it is told that this is the end."""


@final
class Waiter:
    """One request."""

    __slots__ = (
        "began",
        "group",
        "is_looking",
        "is_over",
        "look",
        "looks_again",
        "queue_id",
        "request",
        "topic",
        "until",
    )

    def __init__(
        self,
        request: Request,
        group: str,
        topic: str,
        queue_id: int,
        look: Look,
        *,
        began: float,
        until: float,
    ) -> None:
        """A negative queue id stands for all queues."""
        self.began: float = began
        self.request: Request = request
        self.group: str = group
        self.topic: str = topic
        self.queue_id: int = queue_id
        self.look: Look = look
        self.until: float = until
        self.is_looking: bool = False
        self.looks_again: bool = False
        self.is_over: bool = False

    @property
    def topics(self) -> tuple[str, str]:
        return self.topic, handles.retry_topic(self.group, self.topic)


@final
class Waiting:
    """Of one broker."""

    __slots__ = (
        "_bytes",
        "_bytes_left",
        "_channels",
        "_count",
        "_is_closed",
        "_last_pass",
        "_late",
        "_looks_left",
        "_next_pass",
        "_state",
        "_topics",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._topics: dict[str, dict[str, dict[Waiter, None]]] = {}
        self._channels: dict[Channel, dict[Waiter, None]] = {}
        self._count = 0
        self._bytes = 0
        self._late: deque[Waiter] = deque()
        self._looks_left = LOOKS_A_TURN
        self._bytes_left = ANSWERED_BYTES_A_TURN
        self._is_closed = False
        self._last_pass = 0.0
        self._next_pass = NEVER

    @property
    def bytes_held(self) -> int:
        """The size of all requests that wait, at most `held_bytes.TOTAL_BYTES_MAX`."""
        return self._bytes

    def __len__(self) -> int:
        return self._count

    def has_room(self, channel: Channel) -> bool:
        """Whether one more of this connection's may wait."""
        own = len(self._channels.get(channel, ()))
        is_full = self._count >= WAITING_MAX or self._bytes >= held_bytes.TOTAL_BYTES_MAX
        return not is_full and own < CHANNEL_WAITING_MAX

    def hold(self, request: Request, place: tuple[str, str, int], poll_ms: int, look: Look) -> None:
        """Until there is something, or time is up; only where it `has_room`."""
        assert self.has_room(request.channel), "who holds asks before whether there is room"
        group, topic, queue_id = place
        seconds = 0.0 if self._is_closed else min(max(poll_ms, 0) / 1000, SECONDS_MAX)
        until = self._state.now + seconds
        waiter = Waiter(request, group, topic, queue_id, look, began=self._state.now, until=until)
        for name in waiter.topics:
            self._topics.setdefault(name, {}).setdefault(group, {})[waiter] = None
        self._channels.setdefault(request.channel, {})[waiter] = None
        self._count += 1
        self._bytes += held_bytes.bytes_of(request)
        self._plan(until)

    def close(self) -> None:
        """The broker stops: nobody waits any more."""
        self._is_closed = True
        self.dismiss()

    def dismiss(self) -> None:
        """Everyone is answered as if the time were over."""
        for waiters in list(self._channels.values()):
            for waiter in list(waiters):
                waiter.until = self._state.now
                self._look(waiter)

    def count(self, group: str, topic: str, queue_id: int) -> int:
        """How many requests of the group wait for this queue; for all queues if negative."""
        waiters = self._topics.get(topic, {}).get(group, ())
        return sum(1 for waiter in waiters if max(waiter.queue_id, -1) == max(queue_id, -1))

    # ------------------------------------------------------------------ what happens

    def deadline(self) -> float:
        return 0.0 if self._late else self._next_pass

    def begin_turn(self) -> None:
        """So much may be looked at until the next one."""
        self._looks_left = LOOKS_A_TURN
        self._bytes_left = ANSWERED_BYTES_A_TURN

    @property
    def has_budget(self) -> bool:
        return self._looks_left > 0 and self._bytes_left > 0

    def expire(self, now: float) -> None:
        if self._next_pass <= now:
            self._find_late(now)
        while self._late and self.has_budget:
            waiter = self._late.popleft()
            if not waiter.is_over:
                self._look(waiter)

    def _find_late(self, now: float) -> None:
        self._last_pass, self._next_pass = now, NEVER
        self._late.clear()
        first = NEVER
        for waiters in self._channels.values():
            for waiter in waiters:
                if waiter.until <= now:
                    self._late.append(waiter)
                elif waiter.until < first:
                    first = waiter.until
        self._plan(first)

    def groups_of(self, topic: str) -> list[str]:
        """Whose requests something in this topic may answer."""
        return list(self._topics.get(topic, ()))

    def wake(self, group: str, topic: str, queue_id: int) -> bool:
        """The group may find something in the queue, which may be of its retry topic. False where
        the turn's budget ended before that was clear: wake it again in the next."""
        for waiter in list(self._topics.get(topic, {}).get(group, ())):
            if waiter.topic == topic and 0 <= waiter.queue_id != queue_id:
                continue
            if not self.has_budget:
                return False
            self._look(waiter)
            if not waiter.is_over and not waiter.is_looking:
                return True
        return True

    def closed(self, channel: Channel) -> None:
        for waiter in list(self._channels.get(channel, ())):
            self._remove(waiter)
            self._state.effects.release(waiter.request)

    def _plan(self, until: float) -> None:
        if until < NEVER:
            self._next_pass = min(self._next_pass, max(until, self._last_pass + PASS_SECONDS))

    # ------------------------------------------------------------------ looking

    def _look(self, waiter: Waiter) -> None:
        if waiter.is_looking or waiter.is_over:
            waiter.looks_again = True
            return
        self._looks_left -= 1
        waiter.is_looking = True
        waiter.looks_again = False
        self._state.works.start(
            waiter.look(waiter.until <= self._state.now),
            partial(self._looked, waiter),
            partial(self._broke, waiter),
        )

    def _looked(self, waiter: Waiter, reply: object) -> None:
        waiter.is_looking = False
        if waiter.is_over:
            return
        if isinstance(reply, Reply):
            self._answer(waiter, reply.command)
        elif waiter.looks_again:
            self._look(waiter)

    def _broke(self, waiter: Waiter, error: Exception) -> None:
        if waiter.is_over:
            return
        if not isinstance(error, GantryError):
            self._state.effects.broken("a pop that waited broke", error)
        self._answer(waiter, failed(f"{type(error).__name__}: {error}"))

    def _answer(self, waiter: Waiter, command: Command) -> None:
        self._remove(waiter)
        self._bytes_left -= len(command.body)
        state, code = self._state, waiter.request.command.code
        state.request_figures.note(code, command.code, state.now - waiter.began, HELD)
        state.effects.answer(waiter.request, command)

    def _remove(self, waiter: Waiter) -> None:
        waiter.is_over = True
        self._count -= 1
        self._bytes -= held_bytes.bytes_of(waiter.request)
        for name in waiter.topics:
            groups = self._topics[name]
            del groups[waiter.group][waiter]
            if not groups[waiter.group]:
                del groups[waiter.group]
            if not groups:
                del self._topics[name]
        waiters = self._channels[waiter.request.channel]
        del waiters[waiter]
        if not waiters:
            del self._channels[waiter.request.channel]
