"""Implements long polling: holds pulls that found no message until one arrives or time is up.

    message arrives in the queue    -> read again from where the last read ended
    found a message                 -> answer
    the filter matched none         -> hold on, for at most MOVED_SECONDS more; the answer then
                                       moves the consumer's offset on
    time is up                      -> read once more, and answer with the result
    the group's subscription differs from the one that the pull had
                                    -> answer without messages; the consumer pulls again

Each read repeats all checks of a new pull, because permissions and topics may have changed. It
never uses a newer filter than the pull's own: the consumer checks tags against the subscription it
pulled with, and would drop messages that a newer filter selects. RocketMQ's broker does not prevent
that.

Invariants: a held pull is answered once, or released when its connection closes. If a message
arrives during a read, the pull is read again afterwards. An arrival costs one read for each pull
held on its queue. These reads are spread over turns, because the answers of a turn stay in memory
until it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError, GantryError
from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.engine import waiting_request_memory
from gantrymq.broker.core.engine.waiting_request_memory import bytes_of
from gantrymq.broker.core.figures.requests import HELD
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pull import pulls
from gantrymq.broker.core.pull.pulls import Pull
from gantrymq.broker.core.pull.subscriptions import FilterKey
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, overloaded, rejected
from gantrymq.store.read.pull_query import Pulled, PullStatus
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest

Place: TypeAlias = tuple[str, int]

# Limit of held pulls, of about 2 kB each. Beyond it pulls are refused as SYSTEM_BUSY.
HOLDS_MAX: Final = 50_000

# Limit of one connection, so that one client cannot use up HOLDS_MAX. A client normally has one
# held pull for each queue that it consumes.
CHANNEL_HOLDS_MAX: Final = 10_000

# Bounds the hold time that a request may ask for. Clients time out after 30 s by themselves.
SECONDS_MAX: Final = 300.0

# As in RocketMQ, which checks all held pulls every 5 s, then without regard to tags.
MOVED_SECONDS: Final = 5.0

# The least time between two scans for expired pulls, since a scan visits all of them: a pull may be
# answered so much later than its timeout.
PASS_SECONDS: Final = 0.5

# Limits of one turn, so that the event loop is not blocked for too long. A read takes 50 us; the
# answers may contain one large message once for each pull.
LOOKS_A_TURN: Final = 500
ANSWERED_BYTES_A_TURN: Final = 8 << 20


@final
class HeldPull:
    """A held pull. `offset` is where its next read begins. `PullRequestHold` owns it."""

    __slots__ = (
        "began",
        "filter_key",
        "header",
        "is_looking",
        "is_over",
        "is_woken",
        "looks_again",
        "offset",
        "request",
        "until",
    )

    def __init__(self, pull: Pull, began: float, until: float) -> None:
        self.began: float = began
        self.request: Request = pull.request
        self.header: PullMessageRequest = pull.header
        self.filter_key: FilterKey = pull.choice.key
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
class PullRequestHold:
    """The held pulls of one broker."""

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
        self._woken: deque[HeldPull] = deque()
        self._queues: dict[Place, dict[HeldPull, None]] = {}
        self._channels: dict[Channel, dict[HeldPull, None]] = {}
        self._count = 0
        self._is_closed = False
        self._last_pass = 0.0
        self._next_pass = NEVER

    def __len__(self) -> int:
        return self._count

    @property
    def bytes_held(self) -> int:
        """The size of all held requests, in bytes."""
        return self._state.memory.held_of(Kind.PULLS)

    def refusal(self, request: Request) -> Command | None:
        """Why this pull cannot be held; None if it can."""
        if self._is_closed or self._count >= HOLDS_MAX:
            return overloaded(f"holding pulls, of which there are {self._count},", 0)
        own = len(self._channels.get(request.channel, ()))
        if own >= CHANNEL_HOLDS_MAX:
            return rejected(
                f"this connection has {own} pulls that wait for messages, {CHANNEL_HOLDS_MAX} are"
                " allowed; consume fewer queues by one client, or by several"
            )
        too_long = waiting_request_memory.too_long(request)
        if too_long is not None:
            return too_long
        overrun = self._state.memory.overrun(request.channel, Kind.PULLS, bytes_of(request))
        return None if overrun is None else waiting_request_memory.no_room(overrun.text)

    def close(self) -> None:
        """Answer all held pulls as if their time were up, and hold no more: the broker stops."""
        self._is_closed = True
        self.answer_all()

    def answer_all(self) -> Sequence[Channel]:
        """Answer all held pulls as if their time were up. Returns their channels."""
        channels = list(self._channels)
        for channel in channels:
            self.answer(channel)
        return channels

    def answer(self, channel: Channel) -> None:
        """Answer the held pulls of one connection as if their time were up."""
        for hold in list(self._channels.get(channel, ())):
            hold.until = self._state.now
            self.look(hold)

    def hold(self, pull: Pull) -> HeldPull:
        """Hold a pull until a message arrives or its time is up. The caller has checked that there
        is no `refusal`."""
        channel, header = pull.request.channel, pull.header
        settings = self._state.settings
        wait_ms = header.suspend_timeout_millis
        if not settings.long_polling_enable:
            wait_ms = settings.short_polling_time_mills
        until = self._state.now + min(max(wait_ms, 0) / 1000, SECONDS_MAX)
        hold = HeldPull(pull, self._state.now, until)
        self._queues.setdefault(hold.place, {})[hold] = None
        self._channels.setdefault(channel, {})[hold] = None
        self._count += 1
        self._state.memory.add(channel, Kind.PULLS, bytes_of(pull.request))
        self._plan(until)
        return hold

    # ------------------------------------------------------------------ the service

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
        """Wake the pulls held on these queues."""
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

    def _wake(self, hold: HeldPull) -> None:
        """Have this pull read again, in this turn or one of the next."""
        if not hold.is_woken:
            hold.is_woken = True
            self._woken.append(hold)

    def _pass(self, now: float) -> None:
        """Wake the pulls whose time is up."""
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

    def look(self, hold: HeldPull) -> None:
        """Read for the pull, and answer it if there is something or its time is up."""
        if hold.is_looking:
            hold.looks_again = True
            return
        state = self._state
        pull = pulls.checked(state, hold.request, hold.header)
        if isinstance(pull, Reply):
            self._answer(hold, pull.command)
            return
        if pull.choice.key != hold.filter_key:
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
        state.task_runner.start(
            pulls.read_rest(state, found),
            partial(self._looked, hold, pull),
            partial(self._broke, hold),
            hold.request,
            is_held=True,
        )

    def _looked(self, hold: HeldPull, pull: Pull, found: object) -> None:
        """Answer the pull with the result of a read, or hold it further."""
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

    def _waits_on(self, hold: HeldPull, found: Pulled) -> bool:
        """Whether to hold the pull further: nothing was found, and its time is not up."""
        now = self._state.now
        if hold.until <= now:
            return False
        if found.status is PullStatus.NO_MATCHED_MESSAGE and found.next_offset >= found.maximum:
            hold.offset = found.next_offset
            hold.until = min(hold.until, now + MOVED_SECONDS)
            self._plan(hold.until)
            return True
        return pulls.may_come(self._state, found, hold.offset)

    def _broke(self, hold: HeldPull, error: Exception) -> None:
        if hold.is_over:
            return
        if not isinstance(error, GantryError):
            self._state.effects.broken("a held pull raised an exception", error)
        self._answer(hold, failed(f"{type(error).__name__}: {error}"))

    def _answer(self, hold: HeldPull, command: Command) -> None:
        self._remove(hold)
        self._answered_bytes += len(command.body)
        state, code = self._state, hold.request.command.code
        state.request_figures.note(code, command.code, state.now - hold.began, HELD)
        state.effects.answer(hold.request, command)

    def _remove(self, hold: HeldPull) -> None:
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
