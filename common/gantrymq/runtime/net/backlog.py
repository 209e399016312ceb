"""Queues the requests of a server that do not fit into the current loop iteration, fairly.

One read brings up to nine thousand requests, and some single requests take 60 ms. So the requests
of a read are served for a few milliseconds, and a long request is not started. The remaining
requests are queued by connection, and each loop iteration serves one slice of one connection, round
robin. Other connections are served in between: they wait for one slice or one long request at most.

Work that takes too long is counted under the name of its request (StallWatch). For that the clock
is read once a read or a slice, so a stall of several short requests carries all their names.

Invariants: requests of one connection are served in order, so requests behind a long one wait for
it. A connection with queued requests is held up, so at most one read of it is queued. If the queue
exceeds its share of the memory account, the connection with the most queued bytes is closed. The
queue of a connection that is closing is dropped.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar, final

from gantrymq.base.memory_account import SETTING, Kind, MemoryAccount
from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.base.tasks import SlicedTask
from gantrymq.remoting.events import Reason
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES
from gantrymq.wire.codes import request_name
from gantrymq.wire.command import Command

# A body of this size is read in about 2 ms.
LONG_BYTES: Final = 64 * 1024

# The memory that a header field takes besides its request: two short strings and a map entry.
FIELD_BYTES: Final = 256

# How long requests of one connection are served before the next connection gets its turn.
SLICE_SECONDS: Final = 0.005

# Requests served between two readings of the clock: a reading costs a twentieth of a request.
STRIDE: Final = 4

# How many names a log line has, and the label of a stall that several requests share.
NAMES_MAX: Final = 8
SEVERAL: Final = "several requests"


class Sender(Protocol):
    """A connection that sends requests."""

    @property
    def peer(self) -> str: ...

    @property
    def is_closing(self) -> bool: ...

    def hold_up(self) -> None: ...

    def go_on(self) -> None: ...

    def close(self, reason: Reason, detail: str) -> None: ...


S = TypeVar("S", bound=Sender)


@dataclass(slots=True)
class _Line:
    """The queued requests of one connection; a long request in progress stays at the front."""

    commands: deque[Command]
    weight: int
    task: SlicedTask[None] | None = None


@final
class Backlog(Generic[S]):
    """The queue of one server. Its owner calls `serve_next` once an iteration unless `is_empty`."""

    __slots__ = (
        "_lines",
        "_long_bytes",
        "_long_codes",
        "_memory",
        "_monotonic",
        "_serve",
        "_stalls",
    )

    def __init__(
        self,
        serve: Callable[[S, Command, float], SlicedTask[None] | None],
        monotonic: Callable[[], float],
        long_codes: frozenset[int] = frozenset(),
        long_bytes: int = LONG_BYTES,
        *,
        memory: MemoryAccount,
        stalls: StallWatch | None = None,
    ) -> None:
        """Requests with one of `long_codes`, or a body of `long_bytes`, count as long.

        For a long request `serve` may return a task that does the work in slices.
        """
        self._stalls = stalls or StallWatch()
        self._long_bytes = long_bytes
        self._long_codes = long_codes
        self._serve = serve
        self._monotonic = monotonic
        self._lines: OrderedDict[S, _Line] = OrderedDict()  # the first one is next
        self._memory = memory

    @property
    def is_empty(self) -> bool:
        return not self._lines

    @property
    def weight(self) -> int:
        """The bytes that queued requests take."""
        return self._memory.held_of(Kind.WAITING_REQUESTS)

    def take(self, channel: S, commands: Sequence[Command], now: float) -> None:
        """Serve the requests of one read for one slice and queue the rest; `now` is when it
        came."""
        served = 0
        if not self._lines or channel not in self._lines:
            served = self._serve_some(channel, commands, now)
        if served < len(commands) and not channel.is_closing:
            self._put(channel, commands[served:])

    def _serve_some(self, channel: S, commands: Sequence[Command], now: float) -> int:
        """Serve short requests for one slice; returns how many."""
        serve = self._serve
        long_bytes, long_codes = self._long_bytes, self._long_codes
        served = 0
        began, is_long = now, False
        while True:
            first = served
            is_all = len(commands) <= STRIDE  # the usual case: saves the slicing
            for command in commands if is_all else commands[served : served + STRIDE]:
                is_long = len(command.body) >= long_bytes or command.code in long_codes
                if is_long:
                    break
                task = serve(channel, command, now)
                assert task is None, "a short request is carried out at once"
                served += 1
            ended = self._monotonic()
            if ended - began >= STALL_SECONDS:
                last = served + 1 if is_long else served  # reading the long one took time as well
                self._note_stall(channel, commands[first:last], ended - began)
            is_done = is_long or served == len(commands)
            if is_done or channel.is_closing or ended >= now + SLICE_SECONDS:
                return served
            began = ended

    def serve_next(self) -> None:
        """Serve one slice of the next connection.

        That is a long request, a slice of one that returned a generator, or some short requests.
        """
        channel, line = self._lines.popitem(last=False)
        began = self._monotonic()
        weight_before = line.weight
        if line.task is None:
            done = self._serve_slice(channel, line, began)
        else:
            done = [line.commands[0]]
            _go_on(line)
        seconds = self._monotonic() - began
        if seconds >= STALL_SECONDS:
            self._note_stall(channel, done, seconds)
        left = 0 if channel.is_closing else line.weight
        self._memory.add(channel, Kind.WAITING_REQUESTS, left - weight_before)
        if channel.is_closing:
            _abandon(line)
        elif line.commands:
            self._lines[channel] = line
        else:
            channel.go_on()

    def _serve_slice(self, channel: S, line: _Line, now: float) -> list[Command]:
        """Serve a long request or some short ones; returns those served."""
        commands = line.commands
        done: list[Command] = []
        ends_at = now + SLICE_SECONDS
        while commands:
            served = len(done)
            if served and self._is_long(commands[0]):
                break
            if served % STRIDE == 0 and self._is_over(channel, ends_at):
                break
            command = commands[0]
            done.append(command)
            line.task = self._serve(channel, command, now)
            if line.task is None:
                _end_first(line)
            if self._is_long(command):
                break
        return done

    def drop(self, channel: S) -> None:
        """Drop the queue of a connection that has ended."""
        line = self._lines.pop(channel, None)
        if line is not None:
            self._memory.add(channel, Kind.WAITING_REQUESTS, -line.weight)
            _abandon(line)

    def _note_stall(self, channel: S, commands: Sequence[Command], seconds: float) -> None:
        """Report that these requests held the loop for `seconds`."""
        names = list(dict.fromkeys(request_name(command.code) for command in commands))
        label = names[0] if len(names) == 1 else SEVERAL
        work = ",".join(names[:NAMES_MAX])
        self._stalls.note(work, channel.peer, seconds, label)

    def _is_long(self, command: Command) -> bool:
        return len(command.body) >= self._long_bytes or command.code in self._long_codes

    def _is_over(self, channel: S, ends_at: float) -> bool:
        return channel.is_closing or self._monotonic() >= ends_at

    def _put(self, channel: S, commands: Sequence[Command]) -> None:
        line = self._lines.get(channel)
        if line is None:
            line = self._lines[channel] = _Line(deque(), 0)
            channel.hold_up()
        weight = sum(map(_weight, commands))
        line.commands.extend(commands)
        line.weight += weight
        self._memory.add(channel, Kind.WAITING_REQUESTS, weight)
        while self.weight > self._memory.limit_of(Kind.WAITING_REQUESTS):
            greediest = max(self._lines, key=lambda waiting: self._lines[waiting].weight)
            detail = (
                f"its requests that wait take {self._lines[greediest].weight} bytes, see"
                f" {SETTING}={self._memory.limit}"
            )
            self.drop(greediest)
            greediest.close(Reason.MEMORY_BUDGET, detail)


def _go_on(line: _Line) -> None:
    """Run one more slice of the request in progress."""
    assert line.task is not None
    try:
        next(line.task)
    except StopIteration:
        line.task = None
        _end_first(line)


def _end_first(line: _Line) -> None:
    line.weight -= _weight(line.commands.popleft())


def _abandon(line: _Line) -> None:
    """End the request in progress because its connection ends; it has no further effect."""
    if line.task is not None:
        line.task.close()
        line.task = None


def _weight(command: Command) -> int:
    fields = 0 if command.ext is None else len(command.ext)
    return REQUEST_OVERHEAD_BYTES + len(command.body) + fields * FIELD_BYTES
