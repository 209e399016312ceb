"""Implements long polling for pops: holds requests until messages arrive or their time is up.

    hold -> a message arrives or becomes visible again: try again
         -> found: answered; the first pop without a result ends the round of its group's pops
         -> time is up: tried once more, and answered in any case

Messages of a topic and of the group's retry topic wake the same requests. A message wakes all pops
of the group until one of them finds nothing, and one or two notifications (waiters.py).

Invariants: a request is answered once, or released when its connection ends. An event during a try
causes another try. The work of an event is proportional to the requests, and is spread over turns,
because all answers of one turn are in memory until it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError, GantryError
from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.engine import waiting_request_memory
from gantrymq.broker.core.figures.requests import LONG_POLLING
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pop import peeking
from gantrymq.broker.core.pop.waiters import (
    ALL_QUEUES,
    Attempt,
    GroupWaiters,
    TopicWaiters,
    Waiter,
)
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.remoting.refusal import failed
from gantrymq.wire.command import Command

# 2 kB each. Beyond this limit clients are told to come back later.
WAITING_MAX: Final = 50_000

# A client has one for each group and topic that it pops. The limit leaves room for other clients.
CHANNEL_WAITING_MAX: Final = 10_000

# Clients ask for 15 to 30 s.
SECONDS_MAX: Final = 300.0

# The most that an answer to a timeout may be late: finding such requests scans all of them.
SCAN_SECONDS: Final = 0.5

# A try takes about 120 us; the limit bounds how long the event loop is held.
TRIES_A_TURN: Final = 250
ANSWERED_BYTES_A_TURN: Final = 8 << 20


@final
class Waiting:
    """The waiting pops and notifications of one broker; owned by `Pops`."""

    __slots__ = (
        "_bytes_left",
        "_channels",
        "_count",
        "_expired",
        "_is_closed",
        "_last_scan",
        "_next_scan",
        "_state",
        "_topics",
        "_tries_left",
        "_woken",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._topics: dict[str, TopicWaiters] = {}
        self._channels: dict[Channel, dict[Waiter, None]] = {}
        self._count = 0
        self._expired: deque[Waiter] = deque()
        self._woken: deque[Waiter] = deque()
        """Notifications with announced messages, which are tried next."""
        self._tries_left = TRIES_A_TURN
        self._bytes_left = ANSWERED_BYTES_A_TURN
        self._is_closed = False
        self._last_scan = 0.0
        self._next_scan = NEVER

    @property
    def bytes_held(self) -> int:
        """The size of all waiting requests."""
        return self._state.memory.held_of(Kind.POPS)

    def __len__(self) -> int:
        return self._count

    def has_room(self, request: Request) -> bool:
        """Whether one more request of this connection may wait."""
        channel = request.channel
        own = len(self._channels.get(channel, ()))
        if self._count >= WAITING_MAX or own >= CHANNEL_WAITING_MAX:
            return False
        size = waiting_request_memory.bytes_of(request)
        return self._state.memory.overrun(channel, Kind.POPS, size) is None

    def add(
        self, request: Request, place: tuple[str, str, int], poll_ms: int, attempt: Attempt
    ) -> None:
        """Hold the request until there is a message or its time is up; the caller has checked
        `has_room`."""
        group, topic, queue_id = place
        seconds = 0.0 if self._is_closed else min(max(poll_ms, 0) / 1000, SECONDS_MAX)
        until = self._state.now + seconds
        waiter = Waiter(
            request, group, topic, queue_id, attempt, began=self._state.now, until=until
        )
        for name in waiter.topics:
            groups = self._topics.setdefault(name, TopicWaiters()).groups
            groups.setdefault(group, GroupWaiters()).add(waiter)
        self._channels.setdefault(request.channel, {})[waiter] = None
        self._count += 1
        self._state.memory.add(request.channel, Kind.POPS, waiting_request_memory.bytes_of(request))
        self._plan_scan(until)

    def close(self) -> None:
        """Answer all requests, and hold no more, because the broker stops."""
        self._is_closed = True
        self.dismiss()

    def dismiss(self) -> None:
        """Answer all requests as if their time were up."""
        for waiters in list(self._channels.values()):
            for waiter in list(waiters):
                waiter.until = self._state.now
                self._try(waiter)

    def count(self, group: str, topic: str, queue_id: int) -> int:
        """How many pops of the group wait for this queue; for all queues if negative. Like
        RocketMQ, this does not count notifications."""
        own = self._find(group, topic)
        wanted = max(queue_id, ALL_QUEUES)
        return sum(1 for waiter in own.pops if waiter.queue_id == wanted) if own else 0

    # ------------------------------------------------------------------ what happens

    def deadline(self) -> float:
        return 0.0 if self._expired or self._woken else self._next_scan

    def begin_turn(self) -> None:
        """Reset the limits on the work of one turn."""
        self._tries_left = TRIES_A_TURN
        self._bytes_left = ANSWERED_BYTES_A_TURN

    @property
    def has_budget(self) -> bool:
        return self._tries_left > 0 and self._bytes_left > 0

    def expire(self, now: float) -> None:
        if self._next_scan <= now:
            self._find_expired(now)
        while self._expired and self.has_budget:
            waiter = self._expired.popleft()
            if not waiter.is_over:
                self._try(waiter)
        self._try_woken()

    def _find_expired(self, now: float) -> None:
        self._last_scan, self._next_scan = now, NEVER
        self._expired.clear()
        first = NEVER
        for waiters in self._channels.values():
            for waiter in waiters:
                if waiter.until <= now:
                    self._expired.append(waiter)
                elif waiter.until < first:
                    first = waiter.until
        self._plan_scan(first)

    def new_messages(self, topic: str, queue_id: int) -> Sequence[tuple[str, int]]:
        """The groups that wait for this queue, and how many new messages to announce to
        notifications.

        A message counts once for each group.
        """
        waiters = self._topics.get(topic)
        if waiters is None:
            return ()
        told = waiters.ends.get(queue_id, 0)
        counts: list[tuple[str, int]] = []
        for group, own in waiters.groups.items():
            count = 0
            if own.notifications:
                start, end = self._bounds((group, topic, queue_id))
                # A lower end than before means that the topic was deleted and created again.
                count = end - (max(start, told) if told <= end else start)
                waiters.ends[queue_id] = end
            counts.append((group, count))
        return counts

    def _bounds(self, place: Place) -> tuple[int, int]:
        """The offsets between which the group may find messages."""
        try:
            return peeking.bounds(self._state, place)
        except (DiskError, CorruptionError):
            return 0, 1  # one request tries, and is answered with the error

    def wake(self, place: Place, messages: int) -> bool:
        """Try the group's pops, and the notifications to which `messages` new messages are
        announced.

        The queue may be of the retry topic. Returns False when the turn's limit was reached before
        all pops had tried that could find something; the caller wakes them again in the next turn.
        """
        group, topic, queue_id = place
        own = self._find(group, topic)
        if own is None:
            return True
        for waiter in own.notifications_of(topic, queue_id, messages):
            waiter.is_woken = True
            self._woken.append(waiter)
        is_done = self._wake_pops(own.pops_of(topic, queue_id))
        self._try_woken()
        return is_done

    def _wake_pops(self, pops: Sequence[Waiter]) -> bool:
        for waiter in pops:
            if not self.has_budget:
                return False
            self._try(waiter)
            if not waiter.is_over and not waiter.is_trying:
                break
        return True

    def _try_woken(self) -> None:
        while self._woken and self.has_budget:
            waiter = self._woken.popleft()
            waiter.is_woken = False
            if not waiter.is_over:
                self._try(waiter)

    def _find(self, group: str, topic: str) -> GroupWaiters | None:
        waiters = self._topics.get(topic)
        return None if waiters is None else waiters.groups.get(group)

    def closed(self, channel: Channel) -> None:
        for waiter in list(self._channels.get(channel, ())):
            self._remove(waiter)
            self._state.effects.release(waiter.request)

    def _plan_scan(self, until: float) -> None:
        if until < NEVER:
            self._next_scan = min(self._next_scan, max(until, self._last_scan + SCAN_SECONDS))

    # ------------------------------------------------------------------ tries

    def _try(self, waiter: Waiter) -> None:
        if waiter.is_trying or waiter.is_over:
            waiter.tries_again = True
            return
        self._tries_left -= 1
        waiter.is_trying = True
        waiter.tries_again = False
        self._state.task_runner.start(
            waiter.attempt(waiter.until <= self._state.now),
            partial(self._try_ended, waiter),
            partial(self._try_failed, waiter),
            waiter.request,
            is_held=True,
        )

    def _try_ended(self, waiter: Waiter, reply: object) -> None:
        waiter.is_trying = False
        if waiter.is_over:
            return
        if isinstance(reply, Reply):
            self._answer(waiter, reply.command)
        elif waiter.tries_again:
            self._try(waiter)

    def _try_failed(self, waiter: Waiter, error: Exception) -> None:
        if waiter.is_over:
            return
        if not isinstance(error, GantryError):
            self._state.effects.broken("a waiting pop raised an exception", error)
        self._answer(waiter, failed(f"{type(error).__name__}: {error}"))

    def _answer(self, waiter: Waiter, command: Command) -> None:
        self._remove(waiter)
        self._bytes_left -= len(command.body)
        state, code = self._state, waiter.request.command.code
        state.request_figures.note(code, command.code, state.now - waiter.began, LONG_POLLING)
        state.effects.answer(waiter.request, command)

    def _remove(self, waiter: Waiter) -> None:
        waiter.is_over = True
        self._count -= 1
        request = waiter.request
        self._state.memory.add(
            request.channel, Kind.POPS, -waiting_request_memory.bytes_of(request)
        )
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
