"""Connects one TCP connection with its `Session` and, if TLS is possible, its `TlsTransport`.

Each read passes through TLS, if there is any, into the session. The owner gets all requests of the
read in one call, and all output leaves in one write. Reading pauses while the peer has too many
unanswered requests, does not read its responses, or is held up by the owner. A peer that lets
output grow to the session's bound is disconnected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias, final

from gantrymq.remoting.events import Ended, Event, Reason, Requests
from gantrymq.remoting.failures import ConnectionLostError
from gantrymq.remoting.session import Feed, Session
from gantrymq.runtime.net.address import format_address
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.net.pending_calls import PendingCalls
from gantrymq.runtime.security.tls import HANDSHAKE_SECONDS, TlsTransport, TlsTransportError
from gantrymq.wire.command import Command

# The transport pauses writing above this much unsent output and resumes below a quarter of it.
WRITE_BUFFER_BYTES: Final = 256 * 1024

# Output of one turn is written at its end, or earlier when there is this much of it, so that a
# peer that does not read is noticed in the middle of a large turn.
EARLY_WRITE_BYTES: Final = 1024 * 1024

# Unsent output below this counts as none: the loop sends in this iteration what was just written,
# and an idle connection costs as much.
UNSENT_BYTES_MIN: Final = 4096

# How long the last bytes may take to leave after this side decided to close.
CLOSE_SECONDS_MAX: Final = 5.0


ChannelFeed: TypeAlias = "Callable[[Channel, bytes, int, float], int]"
"""Takes whole frames of a channel from data[start] on, before they are decoded to commands.

Returns where the first frame begins that it did not take, and reports the others by `taken`."""


class Transport(Protocol):
    """The part of asyncio's transports used here; those of uvloop are not subclasses of them."""

    def get_extra_info(self, name: str) -> object: ...

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int: ...

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Owner(Protocol):
    """The owner of a channel. Its methods run on the event loop and must neither block nor
    raise."""

    @property
    def feed(self) -> ChannelFeed | None: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def deadline_timer(self) -> DeadlineTimer: ...

    def monotonic(self) -> float: ...

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None: ...

    def held(self, channel: Channel, more_bytes: int) -> None: ...

    def closed(self, channel: Channel, ending: Ended, now: float) -> None: ...


@final
class Channel:
    """One connection, as request handlers see it: its identity, responses, requests and close.

    The event loop calls it as an asyncio.Protocol; it is not a subclass because a compiled class
    cannot be one.
    """

    __slots__ = (
        "_calls",
        "_certificate_names",
        "_close_by",
        "_delay",
        "_delayed_until",
        "_ending",
        "_feed",
        "_handshake_began_at",
        "_held_bytes",
        "_in_turn",
        "_is_flush_due",
        "_is_held_up",
        "_is_reading",
        "_is_write_paused",
        "_outbox",
        "_owner",
        "_ready",
        "_session",
        "_tls",
        "_transport",
        "bytes_in",
        "bytes_out",
        "id",
        "listener",
        "peer",
        "requests_seen",
    )

    def __init__(
        self,
        owner: Owner,
        channel_id: int,
        listener: str,
        session: Session,
        tls: TlsTransport | None,
        ready: asyncio.Future[None] | None = None,
    ) -> None:
        """`ready` is resolved when requests can be sent (at once, or after the TLS handshake), or
        when they never will be: see `is_closing`."""
        self.id: int = channel_id
        self.listener: str = listener
        self.peer: str = "unknown"
        self.bytes_in: int = 0
        self.bytes_out: int = 0
        self.requests_seen: int = 0
        self._owner: Owner = owner
        self._outbox: Outbox = owner.outbox
        self._feed: Feed | None = None if owner.feed is None else partial(owner.feed, self)
        self._session: Session = session
        self._tls: TlsTransport | None = tls
        self._ready = ready
        self._transport: Transport | None = None
        self._calls: PendingCalls = PendingCalls()
        self._certificate_names: tuple[str, ...] | None = None
        self._ending: Ended | None = None
        self._handshake_began_at: float = owner.monotonic()
        self._close_by: float = 0.0
        self._delay: asyncio.TimerHandle | None = None
        self._delayed_until: float = 0.0
        self._held_bytes: int = 0
        self._in_turn: bool = False
        self._is_flush_due: bool = False
        self._is_held_up: bool = False
        self._is_reading: bool = True
        self._is_write_paused: bool = False

    # ------------------------------------------------------------------ for handlers and owners

    def respond(self, request: Command, response: Command) -> None:
        """Send a response, with the rest of this turn's output. Does nothing once closed."""
        self._session.respond(request, response)
        self._output_added()

    def taken(self, count: int, frames_bytes: int) -> None:
        """Count requests that the feed took; `respond_taken` ends them."""
        self.requests_seen += count
        self._session.taken(count, frames_bytes)

    def respond_taken(self, count: int, frames_bytes: int, responses: bytes) -> None:
        """Send the response frames of `count` requests that the feed took."""
        self._session.respond_taken(count, frames_bytes, responses)
        self._output_added()

    def release(self, request: Command) -> None:
        """End a request that gets no response."""
        self._session.release(request)
        self._output_added()

    def hold_up(self) -> None:
        """Deliver no more requests until `go_on`; those already read stay with the owner."""
        self._is_held_up = True
        self._output_added()

    def go_on(self) -> None:
        self._is_held_up = False
        self._output_added()

    def delay(self, seconds: float) -> None:
        """Read nothing for `seconds`; requests already read are served.

        Of several calls, the one that ends last counts.
        """
        until = self._owner.monotonic() + seconds
        if until <= self._delayed_until or self._transport is None:
            return
        self._delayed_until = until
        if self._delay is not None:
            self._delay.cancel()
        self._delay = asyncio.get_running_loop().call_later(seconds, self._end_delay)
        self._output_added()

    def _end_delay(self) -> None:
        self._delay = None
        self._output_added()

    def notify(self, command: Command) -> None:
        """Send a oneway request; it may be lost with the connection."""
        if not self._session.is_over:
            self._session.notify(command)
            self._output_added()

    async def request(self, command: Command, timeout_s: float) -> Command:
        """Send a request and return the peer's response; raises RequestError.

        If the caller is cancelled, the response is ignored.
        """
        if self._session.is_over:
            raise ConnectionLostError(f"the connection to {self.peer} is closed: {self.why_closed}")
        now = self._owner.monotonic()
        opaque = self._session.request(command, now, timeout_s)
        self._owner.deadline_timer.wake_by(now + timeout_s)
        self._output_added()
        try:
            return await self._calls.begin(opaque)
        finally:
            if self._calls.give_up(opaque):
                self._session.forget(opaque)

    def close(self, reason: Reason = Reason.CLOSED_HERE, detail: str = "") -> None:
        """Close after the output is written; at once if the peer does not read."""
        if self._ending is not None or self._transport is None:
            return
        self._ending = Ended(reason, detail)
        if not self._is_write_paused:
            self._write_output()
        if self._tls is not None:
            self._tls.close()
            self._write([self._tls.take_output()])
        now = self._owner.monotonic()
        self._close_by = now + CLOSE_SECONDS_MAX
        self._deliver(self._session.closed(reason, now), now)
        if self._is_write_paused:
            self._transport.abort()
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close at once and drop unsent output."""
        if self._transport is not None:
            self._ending = self._ending or Ended(Reason.CLOSED_HERE, "")
            self._transport.abort()

    def drain(self) -> None:
        """Finish the requests in flight, then close."""
        self._session.drain()
        self.flush()

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in the peer's verified certificate; constant once TLS is established."""
        if self._certificate_names is None:
            self._certificate_names = () if self._tls is None else self._tls.certificate_names
        return self._certificate_names

    @property
    def is_closing(self) -> bool:
        return self._ending is not None

    @property
    def held_bytes(self) -> int:
        """The bytes this connection holds in memory.

        Those are an incomplete frame or handshake, unsent output, and the state of TLS.
        """
        return self._held_bytes

    def recount(self) -> int:
        """Count the held bytes again, because the loop sends output without a callback.

        The owner adds the difference to its account itself.
        """
        if self._held_bytes:
            transport = self._transport
            self._held_bytes = 0 if transport is None else self._count_held(transport)
        return self._held_bytes

    @property
    def why_closed(self) -> str:
        """The reason for the close and its detail, as text."""
        if self._ending is None:
            return "it is open"
        return " ".join(filter(None, (self._ending.reason.value, self._ending.detail)))

    @property
    def unmatched_responses(self) -> int:
        return self._session.unmatched_responses

    # ------------------------------------------------------------------ time

    def deadline(self) -> float | None:
        if self._ending is not None:
            return self._close_by
        if self._tls is not None and self._tls.is_shaking_hands:
            return self._handshake_began_at + HANDSHAKE_SECONDS
        return self._session.deadline()

    def expire(self, now: float) -> None:
        if self._ending is not None:
            self.abort()
        elif self._tls is not None and self._tls.is_shaking_hands:
            self.close(Reason.HANDSHAKE_SLOW, f"no TLS after {HANDSHAKE_SECONDS:g} s")
        else:
            self._deliver(self._session.expire(now), now)
            self.flush()

    # ------------------------------------------------------------------ called by the event loop

    def connection_made(self, transport: Transport) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self.peer = format_address(transport.get_extra_info("peername"))
        self._owner.opened(self, self._owner.monotonic())
        self.flush()
        self._settle_ready()

    def data_received(self, data: bytes) -> None:
        now = self._owner.monotonic()
        self.bytes_in += len(data)
        self._in_turn = True
        try:
            if self._tls is not None:
                data = self._receive_tls(self._tls, data, now)
            if data:
                self._deliver(self._session.receive(data, now, self._feed), now)
            if self._tls is not None and self._tls.is_finished:
                self.close(Reason.PEER_CLOSED)
        finally:
            self._in_turn = False
        self.flush()

    def eof_received(self) -> None:
        """The peer closed its side; returning None makes the transport close this side too."""

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        now = self._owner.monotonic()
        if self._ending is None:
            cause = "" if exc is None else str(exc) or type(exc).__name__
            self._ending = Ended(Reason.PEER_CLOSED if exc is None else Reason.LOST, cause)
        self._transport = None
        if self._delay is not None:
            self._delay.cancel()
            self._delay = None
        self._deliver(self._session.closed(self._ending.reason, now), now)
        self._hold(0)
        self._settle_ready()
        self._owner.closed(self, self._ending, now)

    # ------------------------------------------------------------------ inside

    def _deliver(self, events: list[Event], now: float) -> None:
        for event in events:
            if isinstance(event, Requests):
                self.requests_seen += len(event.commands)
                self._owner.requests(self, event.commands, now)
            elif isinstance(event, Ended):
                self.close(event.reason, event.detail)
            else:
                self._calls.settle(event, self.peer, self.why_closed)

    def _receive_tls(self, tls: TlsTransport, data: bytes, now: float) -> bytes:
        if not tls.is_shaking_hands:
            self._handshake_began_at = now
        try:
            data = tls.receive(data)
        except TlsTransportError as error:
            self._write([tls.take_output()])  # the TLS alert that tells the peer why
            self.close(error.reason, error.detail)
            return b""
        if tls.source is not None:
            self.peer = tls.source
        if tls.is_plain:
            self._tls = None
        self._settle_ready()
        return data

    def _settle_ready(self) -> None:
        ready = self._ready
        if ready is None or ready.done():
            return
        if self._ending is not None or self._tls is None or self._tls.lets_output_pass:
            ready.set_result(None)

    def _output_added(self) -> None:
        if self._in_turn:
            if self._session.output_bytes >= EARLY_WRITE_BYTES:
                self.flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._outbox.add(self)

    def flush(self) -> None:
        """Write the output that can be written, then decide whether to continue reading."""
        self._is_flush_due = False
        transport = self._transport
        if transport is None or self._ending is not None:
            return
        session = self._session
        if session.output_bytes or self._tls is not None:
            self._write_output()
        self._hold(self._count_held(transport))
        if self.is_closing:
            return  # `_hold` closed this channel because it held the most
        if session.is_overflowing:
            self.close(Reason.SLOW_READER, f"{session.output_bytes} bytes wait for the peer")
        elif session.is_drained and not self._is_write_paused:
            self.close(Reason.DRAINED)
        else:
            self._regulate_reading(transport)

    def _write_output(self) -> None:
        tls = self._tls
        if tls is None:
            if not self._is_write_paused:
                self._write(self._session.take_output())
        elif tls.lets_output_pass and not self._is_write_paused:
            self._write(tls.encrypt(self._session.take_output()))
        else:
            self._write([tls.take_output()])

    def _write(self, pieces: list[bytes]) -> None:
        assert self._transport is not None
        for piece in pieces:
            if piece:
                self.bytes_out += len(piece)
                self._transport.write(piece)

    def _regulate_reading(self, transport: Transport) -> None:
        session = self._session
        must_wait = self._is_write_paused or self._is_held_up or self._delay is not None
        if self._is_reading:
            if must_wait or session.is_saturated:
                self._is_reading = False
                session.hold()
                transport.pause_reading()
        elif not must_wait and session.has_room:
            self._is_reading = True
            session.resume(self._owner.monotonic())
            transport.resume_reading()

    def _count_held(self, transport: Transport) -> int:
        session = self._session
        unsent = transport.get_write_buffer_size()
        if unsent < UNSENT_BYTES_MIN:
            unsent = 0
        held = session.held_bytes + session.output_bytes + unsent
        return held if self._tls is None else held + self._tls.held_bytes

    def _hold(self, held_bytes: int) -> None:
        if held_bytes != self._held_bytes:
            more_bytes = held_bytes - self._held_bytes
            self._held_bytes = held_bytes
            self._owner.held(self, more_bytes)
