"""Pulls that wait for messages: long polling.

    hold -> a message arrives: look again, from where the last look ended, in turns that are short
         -> found, or the offset has moved: answered
         -> the filter let none through: held on, but for MOVED_SECONDS at most, so that the
            consumer's offset gets on
         -> time is up: looked at once more, and answered whatever there is
         -> the group wants something else by now: answered with nothing, and asked anew

Each look makes all checks of a new pull, for what was allowed may not be any more. But it never
goes by a filter that came later: the consumer compares tags with those that it asked for, and
would drop what it gets by new ones. Java's broker lets that happen.

Invariants: a held pull is answered once, or released when its connection ends. A message that
arrives while a pull is being looked at has it looked at again. What arrives costs as much as its
queue has pulls, spread over turns: what one turn answers lies in memory until it is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError, GantryError
from gantrymq.base.memory_account import Kind
from gantrymq.broker.core import held_bytes, pulls
from gantrymq.broker.core.figures.requests import HELD
from gantrymq.broker.core.held_bytes import bytes_of
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pulls import Pull
from gantrymq.broker.core.subscriptions import Wish
from gantrymq.remoting.refusal import failed, overloaded, rejected
from gantrymq.store.pull import Pulled, PullStatus
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

Place: TypeAlias = tuple[str, int]

# 2 kB each. Beyond it clients are told to come back later.
HOLDS_MAX: Final = 50_000

# A client holds one for each queue that it consumes. One that keeps asking leaves room for the
# others.
CHANNEL_HOLDS_MAX: Final = 10_000

# Clients give up after 30 s by themselves; nobody should be held for years.
SECONDS_MAX: Final = 300.0

# Java's: it looks at all held pulls each 5 s, and then knows nothing of tags.
MOVED_SECONDS: Final = 5.0

# How late a pull may be told that there is nothing: all of them are gone through to find those.
PASS_SECONDS: Final = 0.5

# A look takes 50 us: nobody else is kept waiting for longer than a pause of the loop may be. A
# turn's answers may be one large message, once for each pull.
LOOKS_A_TURN: Final = 500
ANSWERED_BYTES_A_TURN: Final = 8 << 20

NEVER: Final = float("inf")


@final
class Hold:
    """One pull. `offset` is where the next look begins."""

    __slots__ = (
        "began",
        "header",
        "is_looking",
        "is_over",
        "is_woken",
        "looks_again",
        "offset",
        "request",
        "until",
        "wish",
    )

    def __init__(self, pull: Pull, began: float, until: float) -> None:
        self.began: float = began
        self.request: Request = pull.request
        self.header: PullMessageRequest = pull.header
        self.wish: Wish = pull.choice.wish
        self.until: float = until
        self.offset: int = pull.header.queue_offset
        self.is_looking: bool = False
        self.looks_again: bool = False
        self.is_over: bool = False
        self.is_woken: bool = False

    @property
    def place(self) -> Place:
        return self.header.topic, self.header.queue_id


@final
class Holds:
    """Of one broker."""

    __slots__ = (
        "_answered_bytes",
        "_channels",
        "_count",
        "_is_closed",
        "_last_pass",
        "_next_pass",
        "_queues",
        "_state",
        "_woken",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._answered_bytes = 0
        self._woken: deque[Hold] = deque()
        self._queues: dict[Place, dict[Hold, None]] = {}
        self._channels: dict[Channel, dict[Hold, None]] = {}
        self._count = 0
        self._is_closed = False
        self._last_pass = 0.0
        self._next_pass = NEVER

    def __len__(self) -> int:
        return self._count

    @property
    def bytes_held(self) -> int:
        """The size of all requests that wait."""
        return self._state.memory.held_of(Kind.PULLS)

    def refusal(self, request: Request) -> Command | None:
        """Why this pull is not held; None where it may be."""
        if self._is_closed or self._count >= HOLDS_MAX:
            return overloaded(f"holding pulls, of which there are {self._count},", 0)
        own = len(self._channels.get(request.channel, ()))
        if own >= CHANNEL_HOLDS_MAX:
            return rejected(
                f"this connection has {own} pulls that wait for messages, {CHANNEL_HOLDS_MAX} are"
                " allowed; consume fewer queues by one client, or by several"
            )
        too_long = held_bytes.too_long(request)
        if too_long is not None:
            return too_long
        overrun = self._state.memory.overrun(request.channel, Kind.PULLS, bytes_of(request))
        return None if overrun is None else held_bytes.no_room(overrun.text)

    def close(self) -> None:
        """The broker stops: everyone is answered as if the time were over, and nobody waits any
        more."""
        self._is_closed = True
        self.answer_all()

    def answer_all(self) -> Sequence[Channel]:
        """As if the time were over; whose they were."""
        channels = list(self._channels)
        for channel in channels:
            self.answer(channel)
        return channels

    def answer(self, channel: Channel) -> None:
        """The same for those of one connection."""
        for hold in list(self._channels.get(channel, ())):
            hold.until = self._state.now
            self.look(hold)

    def hold(self, pull: Pull) -> Hold:
        """Until something arrives, or it has waited long enough; not where there is a `refusal`."""
        channel, header = pull.request.channel, pull.header
        settings = self._state.settings
        wait_ms = header.suspend_timeout_millis
        if not settings.long_polling_enable:
            wait_ms = settings.short_polling_time_mills
        until = self._state.now + min(max(wait_ms, 0) / 1000, SECONDS_MAX)
        hold = Hold(pull, self._state.now, until)
        self._queues.setdefault(hold.place, {})[hold] = None
        self._channels.setdefault(channel, {})[hold] = None
        self._count += 1
        self._state.memory.add(channel, Kind.PULLS, bytes_of(pull.request))
        self._plan(until)
        return hold

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return 0.0 if self._woken else self._next_pass

    def expire(self, now: float) -> None:
        if self._next_pass <= now:
            self._pass(now)
        self._answered_bytes = 0
        for _ in range(min(len(self._woken), LOOKS_A_TURN)):
            hold = self._woken.popleft()
            hold.is_woken = False
            if not hold.is_over:
                self.look(hold)
            if self._answered_bytes >= ANSWERED_BYTES_A_TURN:
                break

    def arrived(self, queues: Sequence[Place]) -> bool:
        if not self._queues:
            return False
        held = [place for place in queues if place in self._queues]
        for place in held:
            for hold in self._queues[place]:
                self._wake(hold)
        return bool(held)

    def closed(self, channel: Channel) -> None:
        for hold in list(self._channels.get(channel, ())):
            self._remove(hold)
            self._state.effects.release(hold.request)

    def _wake(self, hold: Hold) -> None:
        """Look at it in this turn or one of the next."""
        if not hold.is_woken:
            hold.is_woken = True
            self._woken.append(hold)

    def _pass(self, now: float) -> None:
        """Find those whose time is up."""
        self._last_pass, self._next_pass = now, NEVER
        first = NEVER
        for holds in self._channels.values():
            for hold in holds:
                if hold.until <= now:
                    self._wake(hold)
                elif hold.until < first:
                    first = hold.until
        self._plan(first)

    def _plan(self, until: float) -> None:
        if until < NEVER:
            self._next_pass = min(self._next_pass, max(until, self._last_pass + PASS_SECONDS))

    # ------------------------------------------------------------------ looking

    def look(self, hold: Hold) -> None:
        """Whether there is something for it now."""
        if hold.is_looking:
            hold.looks_again = True
            return
        state = self._state
        pull = pulls.checked(state, hold.request, hold.header)
        if isinstance(pull, Reply):
            self._answer(hold, pull.command)
            return
        if pull.choice.wish != hold.wish:
            self._answer(hold, pulls.asked_anew(state, pull))
            return
        try:
            found = pulls.begun(pulls.reading(state, pull, hold.offset))
        except (CorruptionError, DiskError) as error:
            self._broke(hold, error)
            return
        if isinstance(found, Pulled):
            self._looked(hold, pull, found)
            return
        hold.is_looking = True
        state.works.start(
            pulls.read_rest(state, found),
            partial(self._looked, hold, pull),
            partial(self._broke, hold),
            hold.request,
            is_held=True,
        )

    def _looked(self, hold: Hold, pull: Pull, found: object) -> None:
        assert isinstance(found, Pulled)
        if hold.is_over:
            return
        hold.is_looking = False
        state = self._state
        if not self._waits_on(hold, found):
            if found.status is PullStatus.OFFSET_OVERFLOW_ONE and found.next_offset > (
                hold.header.queue_offset
            ):
                found.status = PullStatus.NO_MATCHED_MESSAGE
            self._answer(hold, pulls.response(state, pull, found))
        elif hold.looks_again:
            hold.looks_again = False
            self.look(hold)

    def _waits_on(self, hold: Hold, found: Pulled) -> bool:
        """Whether there is nothing for it yet, and time."""
        now = self._state.now
        if hold.until <= now:
            return False
        if found.status is PullStatus.NO_MATCHED_MESSAGE and found.next_offset >= found.maximum:
            hold.offset = found.next_offset
            hold.until = min(hold.until, now + MOVED_SECONDS)
            self._plan(hold.until)
            return True
        return pulls.may_come(self._state, found, hold.offset)

    def _broke(self, hold: Hold, error: Exception) -> None:
        if hold.is_over:
            return
        if not isinstance(error, GantryError):
            self._state.effects.broken("a held pull broke", error)
        self._answer(hold, failed(f"{type(error).__name__}: {error}"))

    def _answer(self, hold: Hold, command: Command) -> None:
        self._remove(hold)
        self._answered_bytes += len(command.body)
        state, code = self._state, hold.request.command.code
        state.request_figures.note(code, command.code, state.now - hold.began, HELD)
        state.effects.answer(hold.request, command)

    def _remove(self, hold: Hold) -> None:
        hold.is_over = True
        self._count -= 1
        request = hold.request
        self._state.memory.add(request.channel, Kind.PULLS, -bytes_of(request))
        queue = self._queues[hold.place]
        del queue[hold]
        if not queue:
            del self._queues[hold.place]
        channel = self._channels[hold.request.channel]
        del channel[hold]
        if not channel:
            del self._channels[hold.request.channel]
