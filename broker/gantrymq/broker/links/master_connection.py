"""Implements a slave's connection to its master: the I/O for one `LogReceiver`.

Received bytes are in the slave's log before the next report names them. The connection may use TLS,
and if this slave has a secret both ends prove that they know it before the slave reports anything
(slave_handshake.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.classic.log_receiver import LogReceiver
from gantrymq.ha.classic.slave_admission import PROOF_SECONDS
from gantrymq.ha.classic.slave_handshake import SlaveHandshake
from gantrymq.ha.protocol.events import Ended, Ending, LogReceiverEvent
from gantrymq.ha.settings import HaSettings
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportError
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import SyncFailedError

# A Java master never proves it.
UNPROVEN_MASTER: Final = (
    "the master does not prove that it knows the group's secret. Set the same groupSecretFile at a"
    " Gantry master. A Java master has no proof: only slaves without groupSecretFile follow it"
)

NO_DATA: Final = (
    "before the master sent anything; see the master's log. A master with aclEnable,"
    " groupSecretFile or tls.server.mode=enforcing accepts only slaves with the same"
    " groupSecretFile, and a master with haTls=required only slaves with haTls=used"
)


class Transport(Protocol):
    """The part of asyncio's transports that is needed; uvloop's are not subclasses of those."""

    def write(self, data: bytes) -> None: ...

    def writelines(self, pieces: Sequence[bytes]) -> None: ...

    def abort(self) -> None: ...


@final
class Copier:
    """What all connections to one master share: the slave's store and settings."""

    __slots__ = (
        "clock",
        "fail",
        "last_read_ms",
        "last_write_ms",
        "log_moves",
        "security",
        "settings",
        "store",
    )

    def __init__(
        self,
        store: Store,
        settings: HaSettings,
        security: LinkSecurity,
        clock: Clock,
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """`fail` is called if the store cannot continue."""
        self.clock: Clock = clock
        self.fail: Callable[[Exception], None] = fail
        self.log_moves: Callable[[], None] = log_moves
        self.security: LinkSecurity = security
        self.settings: HaSettings = settings
        self.store: Store = store
        self.last_read_ms: int = 0
        self.last_write_ms: int = 0

    def begin(self) -> LogReceiver:
        """Begin to follow on a connection, after the master's proof if one is required."""
        end = self.store.begin_copy()
        return LogReceiver(end or 0, self.settings, self.clock.monotonic(), is_empty=end is None)


@final
class MasterConnection:
    """One connection; the event loop calls it.

    It implements asyncio.Protocol without inheriting from it, which a compiled class cannot.
    """

    __slots__ = (
        "_handshake",
        "_is_over",
        "_owner",
        "_proof_by",
        "_tls",
        "_transport",
        "begun",
        "ended",
        "link",
    )

    def __init__(
        self, owner: Copier, begun: asyncio.Future[None], ended: asyncio.Future[Ended]
    ) -> None:
        """`begun` is done once the master is followed, or never will be."""
        self.begun: asyncio.Future[None] = begun
        self.ended: asyncio.Future[Ended] = ended
        self.link: LogReceiver | None = None
        """None until the master is followed."""
        self._tls: TlsTransport | None = owner.security.outgoing()
        self._handshake: SlaveHandshake | None = None
        self._is_over: bool = False
        self._owner: Copier = owner
        self._proof_by: float = owner.clock.monotonic() + PROOF_SECONDS
        self._transport: Transport | None = None

    def connection_made(self, transport: Transport) -> None:
        self._transport = transport
        if self._is_over:
            transport.abort()
            return
        self._proof_by = self._owner.clock.monotonic() + PROOF_SECONDS
        if self._tls is None:
            self._prove(b"")
        else:
            transport.write(self._tls.take_output())

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        owner = self._owner
        if self._tls is not None:
            data = self._pass(self._tls, data)
            if not data:
                return
        link = self.link
        if link is None:
            self._take_handshake(data)
            return
        owner.last_read_ms = owner.clock.wall_ms()
        self._see(link.receive(data, owner.clock.monotonic()))

    def eof_received(self) -> None:
        """The master closed its side; returning None closes this side as well."""

    def pause_writing(self) -> None:
        """Nothing to do: reports are few and wait in the transport."""

    def resume_writing(self) -> None:
        """Nothing to do: the transport sends what is waiting."""

    def connection_lost(self, error: Exception | None) -> None:
        if self.link is not None:
            self.link.closed(Ending.CLOSED, self._owner.clock.monotonic())
        cause = str(error) if error else "by the master"
        if self.link is not None and self.link.has_heard:
            self._say(Ended(Ending.CLOSED, cause))
        else:
            self._say(Ended(Ending.REFUSED, f"{cause}, {NO_DATA}"))

    def end(self, ended: Ended) -> None:
        """End the connection: what still arrives is not read."""
        self._is_over = True
        self._say(ended)
        if self._transport is not None:
            self._transport.abort()

    def deadline(self) -> float | None:
        return self._proof_by if self.link is None else self.link.deadline()

    def expire(self, now: float) -> None:
        if self._is_over:
            return
        if self.link is None:
            self.end(Ended(Ending.UNPROVEN, self._too_late))
        else:
            self._see(self.link.expire(now))

    # ------------------------------------------------------------------ before it is followed

    def _pass(self, tls: TlsTransport, data: bytes) -> bytes:
        """Decrypt received bytes."""
        assert self._transport is not None
        was_shaking_hands = tls.is_shaking_hands
        try:
            data = tls.receive(data)
        except TlsTransportError as error:
            self.end(Ended(Ending.UNPROVEN, self._owner.security.explain(error)))
            return b""
        said = tls.take_output()
        if said:
            self._transport.write(said)
        if was_shaking_hands and not tls.is_shaking_hands:
            self._prove(tls.channel)
        if tls.is_finished:
            self.end(Ended(Ending.CLOSED, "by the master"))
            return b""
        return data

    def _prove(self, channel: bytes) -> None:
        """Begin the handshake if there is a secret: bytes can be sent now."""
        security = self._owner.security
        security.refresh()
        self._handshake = security.slave_handshake(channel)
        if self._handshake is None:
            self._follow()
        else:
            self._write(self._handshake.begin())

    def _take_handshake(self, data: bytes) -> None:
        handshake = self._handshake
        if handshake is None:
            return
        try:
            said = handshake.receive(data)
        except RemoteError as error:
            hint = "" if handshake.is_answered else f"; {UNPROVEN_MASTER}"
            self.end(Ended(Ending.UNPROVEN, f"{error}{hint}"))
            return
        self._write(said)
        if handshake.is_done:
            self._follow()

    def _follow(self) -> None:
        """Report the end of this slave's log."""
        self._handshake = None
        self.link = self._owner.begin()
        self._flush()
        self._begin()

    def _begin(self) -> None:
        if not self.begun.done():
            self.begun.set_result(None)

    @property
    def _too_late(self) -> str:
        """Describes what did not happen in time."""
        if self._tls is not None and self._tls.is_shaking_hands:
            return f"no TLS within {PROOF_SECONDS:g} s: if the master has none, set haTls=accepted"
        return f"no proof within {PROOF_SECONDS:g} s; {UNPROVEN_MASTER}"

    # ------------------------------------------------------------------ the log

    def _see(self, events: Sequence[LogReceiverEvent]) -> None:
        for event in events:
            ended = event if isinstance(event, Ended) else self._append(event.position, event.data)
            if ended is not None:
                self.end(ended)
                return
        self._flush()

    def _append(self, position: int, data: bytes) -> Ended | None:
        """Append to the slave's log; returns why the connection has to end if the bytes are
        refused."""
        owner, link = self._owner, self.link
        assert link is not None, "nothing comes before the connection was made"
        now = owner.clock.monotonic()
        try:
            refused = owner.store.append_copy(position, data, now)
        except SyncFailedError as error:
            owner.fail(error)
            return Ended(Ending.DISK, str(error))
        link.appended(owner.store.log.end, now)
        owner.log_moves()
        if refused is None:
            return None
        return Ended(Ending.DIVERGED if refused.is_diverged else Ending.DISK, refused.text)

    def _flush(self) -> None:
        if self.link is None or self._transport is None or self._is_over:
            return
        output = self.link.take_output()
        if not output:
            return
        self._owner.last_write_ms = self._owner.clock.wall_ms()
        if self._tls is None:
            self._transport.writelines(output)
        else:
            self._write(b"".join(output))

    def _write(self, data: bytes) -> None:
        if not data or self._transport is None or self._is_over:
            return
        if self._tls is None:
            self._transport.write(data)
        else:
            self._transport.writelines(self._tls.encrypt([data]))

    def _say(self, ended: Ended) -> None:
        self._begin()
        if not self.ended.done():
            self.ended.set_result(ended)
