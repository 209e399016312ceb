"""The one fair queue of a server: what does not fit into this turn of the loop waits here.

A read brings up to nine thousand requests, and some single ones take 60 ms. So a read's requests
are served for a few milliseconds, and a long one is not begun; what is left waits by connection,
and each turn serves one slice of one connection, round robin. Others are served in between: they
wait for one slice at most, or one long request.

What takes too long is counted by the name of its request (StallWatch). The clock is read once a
read or a slice for that, so a stall that several short requests share has all their names.

Invariants: requests of one connection are served in their order, so what follows a long one waits
behind it. A connection with something waiting is held up, so it has at most one read here. Beyond
their share of the memory account the one with the most waiting is closed. What waits for a
connection that is closing is dropped.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, final

from gantrymq.base.memory_account import SETTING, Kind, MemoryAccount
from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.remoting.events import Reason
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES
from gantrymq.wire.codes import request_name
from gantrymq.wire.command import Command

# A body of this size is read in about 2 ms.
LONG_BYTES: Final = 64 * 1024

# What a header field weighs besides its request: two short strings and their place in a map.
FIELD_BYTES: Final = 256

# How long one connection's requests are served before others have their turn.
SLICE_SECONDS: Final = 0.005

# The clock is read once for so many requests: reading it costs a twentieth of serving one.
STRIDE: Final = 4

# Names in one line of the log, and the label of a stall that several requests share.
NAMES_MAX: Final = 8
SEVERAL: Final = "several requests"


class Sender(Protocol):
    """A connection."""

    @property
    def peer(self) -> str: ...

    @property
    def is_closing(self) -> bool: ...

    def hold_up(self) -> None: ...

    def go_on(self) -> None: ...

    def close(self, reason: Reason, detail: str) -> None: ...


S = TypeVar("S", bound=Sender)

Work: TypeAlias = "Generator[None, None, None]"
"""A long request that is under way: each step of it is a slice."""


@dataclass(slots=True)
class _Line:
    """What waits for one connection. While the first request is under way it is still there."""

    commands: deque[Command]
    weight: int
    work: Work | None = None


@final
class Backlog(Generic[S]):
    """What waits. The owner calls `serve_next` once a turn while `is_empty` does not hold."""

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
        serve: Callable[[S, Command, float], Work | None],
        monotonic: Callable[[], float],
        long_codes: frozenset[int] = frozenset(),
        long_bytes: int = LONG_BYTES,
        *,
        memory: MemoryAccount,
        stalls: StallWatch | None = None,
    ) -> None:
        """Requests of these codes take long whatever they carry, and those with such a body. For
        one of them `serve` may answer its further work."""
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
        """Bytes that what waits takes."""
        return self._memory.held_of(Kind.WAITING_REQUESTS)

    def take(self, channel: S, commands: Sequence[Command], now: float) -> None:
        """Serve what one read brought as far as a slice goes; `now` is when it came."""
        served = 0
        if not self._lines or channel not in self._lines:
            served = self._serve_some(channel, commands, now)
        if served < len(commands) and not channel.is_closing:
            self._put(channel, commands[served:])

    def _serve_some(self, channel: S, commands: Sequence[Command], now: float) -> int:
        """Short requests, as many as a slice takes; how many those were."""
        serve = self._serve
        long_bytes, long_codes = self._long_bytes, self._long_codes
        served = 0
        began, is_long = now, False
        while True:
            first = served
            is_all = len(commands) <= STRIDE  # mostly: nothing to cut
            for command in commands if is_all else commands[served : served + STRIDE]:
                is_long = len(command.body) >= long_bytes or command.code in long_codes
                if is_long:
                    break
                work = serve(channel, command, now)
                assert work is None, "a short request is carried out at once"
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
        """One slice of the connection whose turn it is: a long request, or a piece of one that can
        be cut, or some short ones."""
        channel, line = self._lines.popitem(last=False)
        began = self._monotonic()
        weight_before = line.weight
        if line.work is None:
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
        """A long request, or some short ones; which."""
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
            line.work = self._serve(channel, command, now)
            if line.work is None:
                _end_first(line)
            if self._is_long(command):
                break
        return done

    def drop(self, channel: S) -> None:
        """The connection is gone."""
        line = self._lines.pop(channel, None)
        if line is not None:
            self._memory.add(channel, Kind.WAITING_REQUESTS, -line.weight)
            _abandon(line)

    def _note_stall(self, channel: S, commands: Sequence[Command], seconds: float) -> None:
        """These held the loop for so long."""
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
    """One more piece of the request that is under way."""
    assert line.work is not None
    try:
        next(line.work)
    except StopIteration:
        line.work = None
        _end_first(line)


def _end_first(line: _Line) -> None:
    line.weight -= _weight(line.commands.popleft())


def _abandon(line: _Line) -> None:
    """The connection ends: what is under way has no effect any more."""
    if line.work is not None:
        line.work.close()
        line.work = None


def _weight(command: Command) -> int:
    fields = 0 if command.ext is None else len(command.ext)
    return REQUEST_OVERHEAD_BYTES + len(command.body) + fields * FIELD_BYTES
