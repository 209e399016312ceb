"""Requests that wait until there is something to pop: long polling.

    hold -> something arrives, or is given back: look again
         -> found: answered; one pop that finds nothing ends the round for the pops of its group
         -> time is up: looked at once more, and answered with that there is nothing

Messages of a topic and those that its group gets again wake the same requests. A message wakes all
pops of the group until one of them finds nothing, and one or two notifications (waiters.py).

Invariants: a request is answered once, or released when its connection ends. What happens while it
is being looked at has it looked at again. What happens costs as much as there are requests, spread
over turns: what one turn answers lies in memory until it is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError, GantryError
from gantrymq.base.memory_account import Kind
from gantrymq.broker.core import held_bytes
from gantrymq.broker.core.figures.requests import HELD
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pops import peeking
from gantrymq.broker.core.pops.checkouts import Place
from gantrymq.broker.core.pops.waiters import (
    ALL_QUEUES,
    GroupWaiters,
    Look,
    TopicWaiters,
    Waiter,
)
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


@final
class Waiting:
    """The pops and notifications of one broker that wait. `Pops` owns it."""

    __slots__ = (
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
        "_woken",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._topics: dict[str, TopicWaiters] = {}
        self._channels: dict[Channel, dict[Waiter, None]] = {}
        self._count = 0
        self._late: deque[Waiter] = deque()
        self._woken: deque[Waiter] = deque()
        """Notifications that messages arrived for, to be looked at."""
        self._looks_left = LOOKS_A_TURN
        self._bytes_left = ANSWERED_BYTES_A_TURN
        self._is_closed = False
        self._last_pass = 0.0
        self._next_pass = NEVER

    @property
    def bytes_held(self) -> int:
        """The size of all requests that wait."""
        return self._state.memory.held_of(Kind.POPS)

    def __len__(self) -> int:
        return self._count

    def has_room(self, request: Request) -> bool:
        """Whether one more of this connection's may wait."""
        channel = request.channel
        own = len(self._channels.get(channel, ()))
        if self._count >= WAITING_MAX or own >= CHANNEL_WAITING_MAX:
            return False
        size = held_bytes.bytes_of(request)
        return self._state.memory.overrun(channel, Kind.POPS, size) is None

    def hold(self, request: Request, place: tuple[str, str, int], poll_ms: int, look: Look) -> None:
        """Until there is something, or time is up; only where it `has_room`."""
        group, topic, queue_id = place
        seconds = 0.0 if self._is_closed else min(max(poll_ms, 0) / 1000, SECONDS_MAX)
        until = self._state.now + seconds
        waiter = Waiter(request, group, topic, queue_id, look, began=self._state.now, until=until)
        for name in waiter.topics:
            groups = self._topics.setdefault(name, TopicWaiters()).groups
            groups.setdefault(group, GroupWaiters()).add(waiter)
        self._channels.setdefault(request.channel, {})[waiter] = None
        self._count += 1
        self._state.memory.add(request.channel, Kind.POPS, held_bytes.bytes_of(request))
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
        """How many pops of the group wait for this queue; for all queues if negative. Like
        RocketMQ, this does not count notifications."""
        own = self._find(group, topic)
        wanted = max(queue_id, ALL_QUEUES)
        return sum(1 for waiter in own.pops if waiter.queue_id == wanted) if own else 0

    # ------------------------------------------------------------------ what happens

    def deadline(self) -> float:
        return 0.0 if self._late or self._woken else self._next_pass

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
        self._look_at_woken()

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

    def new_messages(self, topic: str, queue_id: int) -> Sequence[tuple[str, int]]:
        """The groups that wait for messages of this queue, where some arrived, and to how many
        notifications these are told. Counts a message once for each group."""
        waiters = self._topics.get(topic)
        if waiters is None:
            return ()
        told = waiters.ends.get(queue_id, 0)
        counts: list[tuple[str, int]] = []
        for group, own in waiters.groups.items():
            count = 0
            if own.notifications:
                start, end = self._bounds((group, topic, queue_id))
                # An end before what was told: the topic was deleted and created again.
                count = end - (max(start, told) if told <= end else start)
                waiters.ends[queue_id] = end
            counts.append((group, count))
        return counts

    def _bounds(self, place: Place) -> tuple[int, int]:
        """Where the messages that the group may find there begin and end."""
        try:
            return peeking.bounds(self._state, place)
        except (DiskError, CorruptionError):
            return 0, 1  # each request that looks is told what is wrong: one may

    def wake(self, place: Place, messages: int) -> bool:
        """The group may find something in the queue, which may be of its retry topic: pops look,
        and so do the notifications that so many messages are told to. False where the turn's budget
        ended before all pops had looked that could find something: wake them in the next turn."""
        group, topic, queue_id = place
        own = self._find(group, topic)
        if own is None:
            return True
        for waiter in own.notifications_of(topic, queue_id, messages):
            waiter.is_woken = True
            self._woken.append(waiter)
        is_done = self._wake_pops(own.pops_of(topic, queue_id))
        self._look_at_woken()
        return is_done

    def _wake_pops(self, pops: Sequence[Waiter]) -> bool:
        for waiter in pops:
            if not self.has_budget:
                return False
            self._look(waiter)
            if not waiter.is_over and not waiter.is_looking:
                break
        return True

    def _look_at_woken(self) -> None:
        while self._woken and self.has_budget:
            waiter = self._woken.popleft()
            waiter.is_woken = False
            if not waiter.is_over:
                self._look(waiter)

    def _find(self, group: str, topic: str) -> GroupWaiters | None:
        waiters = self._topics.get(topic)
        return None if waiters is None else waiters.groups.get(group)

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
            waiter.request,
            is_held=True,
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
        request = waiter.request
        self._state.memory.add(request.channel, Kind.POPS, -held_bytes.bytes_of(request))
        for name in waiter.topics:
            groups = self._topics[name].groups
            groups[waiter.group].remove(waiter)
            if not groups[waiter.group]:
                del groups[waiter.group]
            if not groups:
                del self._topics[name]
        waiters = self._channels[waiter.request.channel]
        del waiters[waiter]
        if not waiters:
            del self._channels[waiter.request.channel]
