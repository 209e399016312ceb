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
from gantrymq.broker.core.figures.requests import LONG_POLLING
from gantrymq.broker.core.messages import Channel, Reply, Request
from gantrymq.broker.core.pull import pulls
from gantrymq.broker.core.pull.pulls import Pull
from gantrymq.broker.core.pull.subscriptions import FilterKey
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, overloaded, rejected
from gantrymq.store.read.pull_query import Pulled, PullStatus
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest

QueueKey: TypeAlias = tuple[str, int]
"""A topic and a queue id."""

# The most held pulls, of about 2 kB each. Beyond this limit pulls are refused as SYSTEM_BUSY.
HELD_PULLS_MAX: Final = 50_000

# The limit of one connection, so that one client cannot use up HELD_PULLS_MAX. A client normally
# has one held pull for each queue that it consumes.
CHANNEL_HELD_PULLS_MAX: Final = 10_000

# Bounds the hold time that a request may ask for. Clients time out after 30 s by themselves.
SECONDS_MAX: Final = 300.0

# As in RocketMQ, which checks all held pulls every 5 s, then without regard to tags.
MOVED_SECONDS: Final = 5.0

# The least time between two scans for expired pulls, since a scan visits all of them: a pull may be
# answered so much later than its timeout.
SCAN_SECONDS: Final = 0.5

# Limits of one turn, so that the event loop is not blocked for too long. A read takes 50 us; the
# answers may contain one large message once for each pull.
READS_A_TURN: Final = 500
ANSWERED_BYTES_A_TURN: Final = 8 << 20


@final
class HeldPull:
    """A held pull. `offset` is where its next read begins. `PullRequestHold` owns it."""

    __slots__ = (
        "began",
        "filter_key",
        "header",
        "is_over",
        "is_reading",
        "is_woken",
        "offset",
        "reads_again",
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
        self.is_reading: bool = False
        self.reads_again: bool = False
        self.is_over: bool = False
        self.is_woken: bool = False

    @property
    def queue_key(self) -> QueueKey:
        return self.header.topic, self.header.queue_id


@final
class PullRequestHold:
    """The held pulls of one broker."""

    __slots__ = (
        "_answered_bytes",
        "_channels",
        "_count",
        "_is_closed",
        "_last_scan",
        "_next_scan",
        "_queues",
        "_state",
        "_woken",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._answered_bytes = 0
        self._woken: deque[HeldPull] = deque()
        self._queues: dict[QueueKey, dict[HeldPull, None]] = {}
        self._channels: dict[Channel, dict[HeldPull, None]] = {}
        self._count = 0
        self._is_closed = False
        self._last_scan = 0.0
        self._next_scan = NEVER

    def __len__(self) -> int:
        return self._count

    @property
    def bytes_held(self) -> int:
        """The size of all held requests, in bytes."""
        return self._state.memory.held_of(Kind.PULLS)

    def refusal(self, request: Request) -> Command | None:
        """Why this pull cannot be held; None if it can."""
        if self._is_closed or self._count >= HELD_PULLS_MAX:
            return overloaded(f"holding pulls, of which there are {self._count},", 0)
        own = len(self._channels.get(request.channel, ()))
        if own >= CHANNEL_HELD_PULLS_MAX:
            return rejected(
                f"this connection has {own} pulls that wait for messages,"
                f" {CHANNEL_HELD_PULLS_MAX} are allowed; consume fewer queues by one"
                " client, or by several"
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
        for held in list(self._channels.get(channel, ())):
            held.until = self._state.now
            self.read(held)

    def add(self, pull: Pull) -> HeldPull:
        """Hold a pull until a message arrives or its time is up. The caller has checked that there
        is no `refusal`."""
        channel, header = pull.request.channel, pull.header
        settings = self._state.settings
        wait_ms = header.suspend_timeout_millis
        if not settings.long_polling_enable:
            wait_ms = settings.short_polling_time_mills
        until = self._state.now + min(max(wait_ms, 0) / 1000, SECONDS_MAX)
        held = HeldPull(pull, self._state.now, until)
        self._queues.setdefault(held.queue_key, {})[held] = None
        self._channels.setdefault(channel, {})[held] = None
        self._count += 1
        self._state.memory.add(channel, Kind.PULLS, bytes_of(pull.request))
        self._plan_scan(until)
        return held

    # ------------------------------------------------------------------ the service

    def deadline(self) -> float:
        return 0.0 if self._woken else self._next_scan

    def expire(self, now: float) -> None:
        if self._next_scan <= now:
            self._wake_expired(now)
        self._answered_bytes = 0
        for _ in range(min(len(self._woken), READS_A_TURN)):
            held = self._woken.popleft()
            held.is_woken = False
            if not held.is_over:
                self.read(held)
            if self._answered_bytes >= ANSWERED_BYTES_A_TURN:
                break

    def arrived(self, queues: Sequence[QueueKey]) -> bool:
        """Wake the pulls held on these queues."""
        if not self._queues:
            return False
        keys = [key for key in queues if key in self._queues]
        for key in keys:
            for held in self._queues[key]:
                self._wake(held)
        return bool(keys)

    def closed(self, channel: Channel) -> None:
        for held in list(self._channels.get(channel, ())):
            self._remove(held)
            self._state.effects.release(held.request)

    def _wake(self, held: HeldPull) -> None:
        """Have this pull read again, in this turn or one of the next."""
        if not held.is_woken:
            held.is_woken = True
            self._woken.append(held)

    def _wake_expired(self, now: float) -> None:
        """Wake the pulls whose time is up."""
        self._last_scan, self._next_scan = now, NEVER
        first = NEVER
        for held_pulls in self._channels.values():
            for held in held_pulls:
                if held.until <= now:
                    self._wake(held)
                elif held.until < first:
                    first = held.until
        self._plan_scan(first)

    def _plan_scan(self, until: float) -> None:
        if until < NEVER:
            self._next_scan = min(self._next_scan, max(until, self._last_scan + SCAN_SECONDS))

    # ------------------------------------------------------------------ reading

    def read(self, held: HeldPull) -> None:
        """Read for the pull, and answer it if there is something or its time is up."""
        if held.is_reading:
            held.reads_again = True
            return
        state = self._state
        pull = pulls.checked(state, held.request, held.header)
        if isinstance(pull, Reply):
            self._answer(held, pull.command)
            return
        if pull.choice.key != held.filter_key:
            self._answer(held, pulls.asked_anew(state, pull))
            return
        try:
            found = pulls.begun(pulls.reading(state, pull, held.offset))
        except (CorruptionError, DiskError) as error:
            self._read_failed(held, error)
            return
        if isinstance(found, Pulled):
            self._read_ended(held, pull, found)
            return
        held.is_reading = True
        state.task_runner.start(
            pulls.read_rest(state, found),
            partial(self._read_ended, held, pull),
            partial(self._read_failed, held),
            held.request,
            is_held=True,
        )

    def _read_ended(self, held: HeldPull, pull: Pull, found: object) -> None:
        """Answer the pull with the result of a read, or hold it further."""
        assert isinstance(found, Pulled)
        if held.is_over:
            return
        held.is_reading = False
        state = self._state
        if not self._keeps_waiting(held, found):
            if found.status is PullStatus.OFFSET_OVERFLOW_ONE and found.next_offset > (
                held.header.queue_offset
            ):
                found.status = PullStatus.NO_MATCHED_MESSAGE
            self._answer(held, pulls.response(state, pull, found))
        elif held.reads_again:
            held.reads_again = False
            self.read(held)

    def _keeps_waiting(self, held: HeldPull, found: Pulled) -> bool:
        """Whether to hold the pull further: nothing was found, and its time is not up."""
        now = self._state.now
        if held.until <= now:
            return False
        if found.status is PullStatus.NO_MATCHED_MESSAGE and found.next_offset >= found.maximum:
            held.offset = found.next_offset
            held.until = min(held.until, now + MOVED_SECONDS)
            self._plan_scan(held.until)
            return True
        return pulls.may_come(self._state, found, held.offset)

    def _read_failed(self, held: HeldPull, error: Exception) -> None:
        if held.is_over:
            return
        if not isinstance(error, GantryError):
            self._state.effects.broken("a held pull raised an exception", error)
        self._answer(held, failed(f"{type(error).__name__}: {error}"))

    def _answer(self, held: HeldPull, command: Command) -> None:
        self._remove(held)
        self._answered_bytes += len(command.body)
        state, code = self._state, held.request.command.code
        state.request_figures.note(code, command.code, state.now - held.began, LONG_POLLING)
        state.effects.answer(held.request, command)

    def _remove(self, held: HeldPull) -> None:
        held.is_over = True
        self._count -= 1
        request = held.request
        self._state.memory.add(request.channel, Kind.PULLS, -bytes_of(request))
        queue = self._queues[held.queue_key]
        del queue[held]
        if not queue:
            del self._queues[held.queue_key]
        channel = self._channels[held.request.channel]
        del channel[held]
        if not channel:
            del self._channels[held.request.channel]
