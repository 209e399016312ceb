"""Implements both sides of one connection without I/O: correlation, deadlines, limits.

A session separates the peer's requests from the responses to its own requests, and decides how long
either may take and when the peer costs too much. The channel passes input to `receive`, writes
`take_output`, calls `expire` at `deadline`, reports the end by `closed`, and closes the connection
when it gets an `Ended`.

Invariants: every opaque that `request` returned comes back in exactly one Answered, TimedOut or
Abandoned event unless it is forgotten; every request of the peer, oneway or not, is in flight until
it is answered or released; memory is bounded by SessionLimits plus one read.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, final

from gantrymq.base.errors import LocalError
from gantrymq.remoting.events import (
    Abandoned,
    Answered,
    Ended,
    Event,
    Reason,
    Requests,
    TimedOut,
)
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES, SessionLimits
from gantrymq.remoting.refusal import failed, going_away
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import FLAG_ONEWAY, FLAG_RESPONSE, Command
from gantrymq.wire.frames import FrameReader, encode, encode_parts
from gantrymq.wire.version import OWN_VERSION, V5_3_1

OPAQUE_MASK: Final = 0x7FFFFFFF

# Buffers up to this size are joined, because copying is cheaper than another system call.
JOIN_BYTES_MAX: Final = 64 * 1024

# The expiry heap keeps entries of answered requests until they reach the top. If it has this many
# more entries than pending requests it is rebuilt, so its size stays proportional to them.
STALE_EXPIRIES_MAX: Final = 1024

Feed: TypeAlias = Callable[[bytes, int, float], int]
"""Takes whole frames from data[start] on before they are decoded; the float is the time.

Returns where the first frame begins that it did not take, and reports the others by `taken`."""


@final
class Session:
    """The state of one connection. `now` is monotonic seconds, the same clock in every call."""

    __slots__ = (
        "_active_at",
        "_bytes_in",
        "_bytes_in_max",
        "_bytes_out_max",
        "_draining",
        "_expiries",
        "_frame_began_at",
        "_frame_bytes_max",
        "_heard_at",
        "_held",
        "_is_closed",
        "_language",
        "_limits",
        "_next_opaque",
        "_output",
        "_output_bytes",
        "_pending",
        "_reader",
        "_requests_in",
        "_requests_in_max",
        "_version",
        "is_over",
        "unmatched_responses",
    )

    def __init__(
        self,
        limits: SessionLimits,
        now: float,
        *,
        language: int = LanguageCode.JAVA,
        version: int = OWN_VERSION,
    ) -> None:
        self._limits = limits
        # Limits that are compared for each request: own fields are faster to read.
        self._bytes_in_max: int = limits.bytes_in_max
        self._bytes_out_max: int = limits.bytes_out_max
        self._frame_bytes_max: int = limits.frame_bytes_max
        self._requests_in_max: int = limits.requests_in_max
        self._language = language
        self._version = version
        self._reader = FrameReader(limits.frame_bytes_max, limits.header_bytes_max)
        self._active_at = now
        self._heard_at = now
        self._frame_began_at: float | None = None
        self._held = False
        self._is_closed = False
        self._draining = False
        self._requests_in = 0
        self._bytes_in = 0
        self._next_opaque = 0
        self._pending: dict[int, float] = {}
        self._expiries: list[tuple[float, int, float]] = []
        """Entries are: deadline of the response, opaque, time of sending."""
        self._output: list[bytes] = []
        self._output_bytes = 0
        self.is_over = False
        self.unmatched_responses = 0

    # ------------------------------------------------------------------ what came in

    def receive(self, data: bytes, now: float, feed: Feed | None = None) -> list[Event]:
        if self.is_over:
            return []
        self._active_at = self._heard_at = now
        requests_before = self._requests_in
        if feed is None or self._draining:
            commands = self._reader.decode(data)
        else:
            commands = self._feed(data, now, feed)
        events: list[Event] = []
        requests = self._sort(commands, events)
        if requests:
            events.append(Requests(requests))
        failure = self._reader.failure
        if failure is not None:
            events.append(self._end(Reason.GARBAGE, str(failure)))
        elif not self._reader.is_mid_frame:
            self._frame_began_at = None
        elif commands or self._requests_in != requests_before or self._frame_began_at is None:
            self._frame_began_at = now
        return events

    def _feed(self, data: bytes, now: float, feed: Feed) -> list[Command]:
        """Offer the data to `feed`, and decode the frames that it does not take.

        After the first decoded frame nothing is offered any more, so that requests keep their
        order.
        """
        reader = self._reader
        commands: list[Command] = []
        position = 0
        if reader.is_mid_frame:
            whole = reader.fill(data)
            position = reader.filled
            if whole and feed(whole, 0, now) == 0:
                commands = reader.decode(whole)
        if not commands and reader.failure is None and position < len(data):
            position = feed(data, position, now)
        if position < len(data):
            commands += reader.decode(data[position:] if position else data)
        return commands

    def taken(self, count: int, frames_bytes: int) -> None:
        """Count requests that the feed took; `respond_taken` ends them."""
        self._requests_in += count
        self._bytes_in += count * REQUEST_OVERHEAD_BYTES + frames_bytes

    def respond_taken(self, count: int, frames_bytes: int, responses: bytes) -> None:
        """Send the responses to requests that the feed took, in order; oneway requests have
        none."""
        self._requests_in -= count
        self._bytes_in -= count * REQUEST_OVERHEAD_BYTES + frames_bytes
        assert self._requests_in >= 0, "a request was answered twice"
        if responses and not self._is_closed:
            self._output.append(responses)
            self._output_bytes += len(responses)

    def _sort(self, commands: list[Command], events: list[Event]) -> list[Command]:
        """The requests among `commands`; responses become events."""
        requests: list[Command] = []
        for command in commands:
            flag = command.flag
            if flag & FLAG_RESPONSE:
                if self._pending.pop(command.opaque, None) is None:
                    self.unmatched_responses += 1
                else:
                    events.append(Answered(command.opaque, command))
                continue
            self._requests_in += 1
            self._bytes_in += _weight(command)
            if self._draining and command.version > V5_3_1 and not flag & FLAG_ONEWAY:
                self.respond(command, going_away())
                continue
            requests.append(command)
        if events:
            self._drop_stale_expiries()
        return requests

    @property
    def is_saturated(self) -> bool:
        """Whether the peer has as many unanswered requests as it may: stop reading."""
        return self._requests_in >= self._requests_in_max or self._bytes_in >= self._bytes_in_max

    @property
    def has_room(self) -> bool:
        """Whether half of the bound is free: resume reading. Half, so that reading does not
        flap."""
        return (
            self._requests_in * 2 <= self._requests_in_max
            and self._bytes_in * 2 <= self._bytes_in_max
        )

    @property
    def buffered_bytes(self) -> int:
        """Bytes of an incomplete frame."""
        return self._reader.buffered_bytes

    @property
    def held_bytes(self) -> int:
        """The memory that input takes."""
        return self._reader.held_bytes

    def hold(self) -> None:
        """The channel stopped reading: an incomplete frame no longer counts as slow."""
        self._held = True

    def resume(self, now: float) -> None:
        """The channel reads again: the time of an incomplete frame starts anew."""
        self._held = False
        if self._frame_began_at is not None:
            self._frame_began_at = now

    # ------------------------------------------------------------------ what goes out

    def request(self, command: Command, now: float, timeout_s: float) -> int:
        """Send a request; returns the new opaque that it carries."""
        if self.is_over or self._draining:
            raise LocalError("the session accepts no more requests: it has ended or is draining")
        if len(self._pending) >= self._limits.requests_out_max:
            raise LocalError(
                f"{len(self._pending)} requests already wait for a response on this connection, "
                f"the bound is {self._limits.requests_out_max}: slow down or use more connections"
            )
        opaque = self._stamp(command, 0)
        self._put(command)
        self._active_at = now
        self._pending[opaque] = now + timeout_s
        heappush(self._expiries, (now + timeout_s, opaque, now))
        return opaque

    def notify(self, command: Command) -> None:
        """Send a oneway request, which gets no response."""
        if self.is_over:
            raise LocalError("the session has ended: a oneway request cannot be sent")
        self._stamp(command, FLAG_ONEWAY)
        self._put(command)

    def forget(self, opaque: int) -> None:
        """Stop waiting for a response; it will be ignored."""
        self._pending.pop(opaque, None)
        self._drop_stale_expiries()

    def respond(self, request: Command, response: Command) -> None:
        """Answer the peer's request, in its encoding. Sets the header fields of `response`.

        Each request is answered once, or released. Answering a oneway request only releases it, so
        handlers need no special case. A response that is too long for a frame, or for the peer
        (which would close the connection), is replaced by a refusal that says so.
        """
        self.release(request)
        if self._is_closed or request.flag & FLAG_ONEWAY:
            return
        self._stamp_response(request, response)
        try:
            self._put(response)
        except LocalError as error:
            refusal = failed(f"the answer cannot be sent: {error}")
            self._stamp_response(request, refusal)
            self._put(refusal)

    def _stamp_response(self, request: Command, response: Command) -> None:
        response.opaque = request.opaque
        response.flag = FLAG_RESPONSE
        response.language = self._language
        response.version = self._version
        response.encoding = request.encoding

    def release(self, request: Command) -> None:
        """End a request of the peer, after its response or without one."""
        self._requests_in -= 1
        self._bytes_in -= _weight(request)
        assert self._requests_in >= 0, "a request was answered twice"

    def take_output(self) -> list[bytes]:
        """The output to write, small adjacent pieces joined. The caller must write all of it."""
        pieces = self._output
        if not pieces:
            return []
        self._output = []
        total, self._output_bytes = self._output_bytes, 0
        if len(pieces) == 1:
            return pieces
        return [b"".join(pieces)] if total <= JOIN_BYTES_MAX else _join_small(pieces)

    @property
    def output_bytes(self) -> int:
        return self._output_bytes

    @property
    def is_overflowing(self) -> bool:
        """Whether the peer does not read its responses: disconnect it."""
        return self._output_bytes > self._bytes_out_max

    def _stamp(self, command: Command, flag: int) -> int:
        opaque = self._next_opaque
        while opaque in self._pending:
            opaque = (opaque + 1) & OPAQUE_MASK
        self._next_opaque = (opaque + 1) & OPAQUE_MASK
        command.opaque = opaque
        command.flag = flag
        command.language = self._language
        command.version = self._version
        return opaque

    def _put(self, command: Command) -> None:
        if len(command.body) < JOIN_BYTES_MAX:
            frame = encode(command)
            frame_bytes = len(frame)
            if frame_bytes > self._frame_bytes_max:
                raise self._too_long(frame_bytes)
            self._output.append(frame)
        else:  # a large body is passed on without a copy
            pieces = encode_parts(command)
            frame_bytes = sum(map(len, pieces))
            if frame_bytes > self._frame_bytes_max:
                raise self._too_long(frame_bytes)
            self._output += pieces
        self._output_bytes += frame_bytes

    def _too_long(self, frame_bytes: int) -> LocalError:
        return LocalError(f"it takes {frame_bytes} bytes, {self._frame_bytes_max} are allowed")

    # ------------------------------------------------------------------ time and the end

    def deadline(self) -> float | None:
        """The earliest time at which `expire` has work; None when the session is over."""
        if self.is_over:
            return None
        earliest = self._active_at + self._limits.idle_seconds
        frame = self._frame_deadline()
        if frame is not None and frame < earliest:
            earliest = frame
        if self._expiries and self._expiries[0][0] < earliest:
            earliest = self._expiries[0][0]
        return earliest

    def expire(self, now: float) -> list[Event]:
        if self.is_over:
            return []
        events: list[Event] = []
        silence = 0.0
        while self._expiries and self._expiries[0][0] <= now:
            expiry, opaque, sent_at = heappop(self._expiries)
            if self._pending.get(opaque) == expiry:
                del self._pending[opaque]
                events.append(TimedOut(opaque))
                if self._heard_at <= sent_at:
                    silence = max(silence, expiry - sent_at)
        frame = self._frame_deadline()
        if frame is not None and frame <= now:
            held = self._reader.buffered_bytes
            events.append(self._end(Reason.SLOW_FRAME, f"only {held} bytes of a frame arrived"))
        elif silence >= self._limits.silence_seconds:
            events.append(self._end(Reason.SILENT, f"nothing arrived for {silence:g} s"))
        elif self._active_at + self._limits.idle_seconds <= now:
            idle = now - self._active_at
            events.append(self._end(Reason.IDLE, f"nothing arrived for {idle:.0f} s"))
        return events

    def closed(self, reason: Reason, now: float) -> list[Event]:
        """The connection ended: pending requests become Abandoned events."""
        self._active_at = now
        self.is_over = self._is_closed = True
        events: list[Event] = [Abandoned(opaque, reason) for opaque in self._pending]
        self._pending.clear()
        self._expiries.clear()
        self._output.clear()
        self._output_bytes = 0
        self._reader.forget()
        return events

    def drain(self) -> None:
        """Wind down: send no new requests, and tell newer clients to reconnect elsewhere."""
        self._draining = True

    @property
    def is_drained(self) -> bool:
        """Whether the session is draining and neither side owes a response."""
        return (
            self._draining
            and self._requests_in == 0
            and not self._pending
            and self._output_bytes == 0
        )

    @property
    def requests_in(self) -> int:
        return self._requests_in

    @property
    def requests_out(self) -> int:
        return len(self._pending)

    def _frame_deadline(self) -> float | None:
        if self._frame_began_at is None or self._held:
            return None
        earned = self._reader.buffered_bytes / self._limits.frame_bytes_per_second_min
        return self._frame_began_at + self._limits.frame_seconds + earned

    def _end(self, reason: Reason, detail: str) -> Ended:
        self.is_over = True
        return Ended(reason, detail)

    def _drop_stale_expiries(self) -> None:
        """Drop entries of answered requests. Responses come mostly in order, so most are at the
        top."""
        expiries, pending = self._expiries, self._pending
        while expiries and pending.get(expiries[0][1]) != expiries[0][0]:
            heappop(expiries)
        if len(expiries) > len(pending) + STALE_EXPIRIES_MAX:
            self._expiries = [each for each in expiries if pending.get(each[1]) == each[0]]
            heapify(self._expiries)


def _weight(request: Command) -> int:
    """The memory that a request takes until it is answered; an ordinary header is included."""
    header_bytes = request.header_bytes
    header_bytes = max(REQUEST_OVERHEAD_BYTES, header_bytes)
    return header_bytes + len(request.body)


def _join_small(pieces: list[bytes]) -> list[bytes]:
    """Join runs of small pieces into buffers of about JOIN_BYTES_MAX; keep large pieces as they
    are."""
    joined: list[bytes] = []
    run: list[bytes] = []
    run_bytes = 0
    for piece in pieces:
        if run and run_bytes + len(piece) > JOIN_BYTES_MAX:
            joined.append(b"".join(run))
            run, run_bytes = [], 0
        run.append(piece)
        run_bytes += len(piece)
    if run:
        joined.append(b"".join(run))
    return joined
