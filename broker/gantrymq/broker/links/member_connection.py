"""Implements one connection between members, up to the point where the member's core takes over.

    outgoing    (TLS, the channel proof)                        -> the core
    incoming    (TLS, the channel proof)  a member's opening    -> the core

With TLS, each end proves that there is no man in the middle (channel_proof.py). An incoming
connection has PROOF_SECONDS to send a member's opening; in the core it has as long to prove that it
is a member.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol, cast, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.classic.slave_admission import PROOF_SECONDS
from gantrymq.ha.protocol.channel_proof import ChannelProof
from gantrymq.ha.protocol.member_frames import OPENING
from gantrymq.runtime.net.address import format_address
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportError

# Above this much unsent output the transport pauses writing.
WRITE_BUFFER_BYTES: Final = 256 * 1024

# How long a closed connection may take to send its last output.
LINGER_SECONDS: Final = 1.0

NOT_A_MEMBER: Final = (
    "the peer is not a member of this group. The brokers of groupMembers elect their master;"
    " slaves with brokerRole=SLAVE follow a broker with a fixed role"
)


class ConnectionOwner(Protocol):
    """Is notified of the connections of one member, on the event loop."""

    @property
    def security(self) -> LinkSecurity: ...

    def monotonic(self) -> float: ...

    def connected(self, connection: MemberConnection) -> None:
        """An incoming connection was made, which may be a member's."""

    def began(self, connection: MemberConnection) -> bool:
        """The connection is ready for the core. Returns whether the core accepts it; an incoming
        connection gets its number here."""

    def turn_away(self, connection: MemberConnection, cause: str) -> None:
        """The peer is not a member, or does not prove that it is one."""

    def gone(self, connection: MemberConnection) -> None:
        """The connection ended before the core knew of it."""

    def received(self, connection: MemberConnection, data: bytes) -> None:
        """Bytes from the member."""

    def held_up(self, number: int, *, is_held_up: bool) -> None:
        """The network stopped or resumed accepting bytes."""

    def ended(self, number: int) -> None:
        """A connection that the core knew was closed."""


@final
class MemberConnection(asyncio.Protocol):
    """One connection; the event loop calls it. `number` is None for an incoming connection until it
    has sent a member's opening."""

    def __init__(self, owner: ConnectionOwner, number: int | None = None) -> None:
        self.address = "unknown"
        self.failure = ""
        """Why an outgoing connection failed."""
        self.has_begun = False
        """Whether the core knows the connection."""
        self.host = ""
        self.number = number
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the core knows the connection, or never will."""
        self.was_dialed = number is not None
        security = owner.security
        self._tls: TlsTransport | None = (
            security.outgoing() if self.was_dialed else security.incoming()
        )
        self._channel_proof: ChannelProof | None = None
        """The check of the peer's channel proof, while that is outstanding."""
        self._first = b""
        self._has_sealed = False
        self._is_over = False
        self._owner = owner
        self._proof_by = owner.monotonic() + PROOF_SECONDS
        self._transport: asyncio.Transport | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the connection uses TLS."""
        return self._tls is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = transport = cast("asyncio.Transport", transport)
        self.address = format_address(transport.get_extra_info("peername"))
        self.host = self.address.rpartition(":")[0]
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        if not self.was_dialed:
            self._owner.connected(self)
        elif self._tls is None:
            self._begin()
        else:
            transport.write(self._tls.take_output())

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if self._tls is not None:
            data = self._pass(self._tls, data)
            if not data:
                return
        if self.has_begun:
            self._owner.received(self, data)
        elif not self.was_dialed:
            self._look_at(data)

    def pause_writing(self) -> None:
        self._is_held_up(is_held_up=True)

    def resume_writing(self) -> None:
        self._is_held_up(is_held_up=False)

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        if self.number is not None and self.has_begun:
            self._owner.ended(self.number)
        else:
            self.failure = self.failure or str(error or "closed by the member")
            self._owner.gone(self)
        self._settle_ready()

    def deadline(self) -> float:
        return self._proof_by

    def expire(self, now: float) -> None:
        del now
        self._owner.turn_away(
            self, f"the peer did not send a member's opening within {PROOF_SECONDS:g} s"
        )

    def write(self, output: Sequence[bytes]) -> None:
        if self._transport is None or self._is_over:
            return
        if self._tls is None:
            self._transport.writelines(output)
        else:
            self._transport.writelines(self._tls.encrypt([b"".join(output)]))

    def close(self) -> None:
        """Close the connection; pending output is still sent, within LINGER_SECONDS."""
        if self._transport is not None and not self._is_over:
            self._is_over = True
            self._transport.close()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)

    def abort(self) -> None:
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ before the core knows it

    def _pass(self, tls: TlsTransport, data: bytes) -> bytes:
        """Decrypt received bytes, if the connection uses TLS."""
        assert self._transport is not None
        try:
            data = tls.receive(data)
        except TlsTransportError as error:
            self._fail(tls, self._owner.security.explain(error))
            return b""
        said = tls.take_output()
        if said:
            self._transport.write(said)
        if tls.is_plain:
            self._tls = None
        elif tls.lets_output_pass and not self._has_sealed:
            self._seal(tls)
        if self._channel_proof is not None:
            data = self._check(self._channel_proof, tls, data)
        if tls.is_finished:
            self.abort()
            return b""
        return data

    def _seal(self, tls: TlsTransport) -> None:
        """Send the channel proof, now that TLS is established."""
        self._has_sealed = True
        security = self._owner.security
        security.refresh()
        proof = security.channel_proof(tls.channel, was_dialed=self.was_dialed)
        assert proof is not None, "members have a secret"
        self._channel_proof = proof
        self.write([proof.begin()])

    def _check(self, proof: ChannelProof, tls: TlsTransport, data: bytes) -> bytes:
        """Check the peer's channel proof; returns the bytes that follow it."""
        try:
            data = proof.receive(data)
        except RemoteError as error:
            self._fail(tls, str(error))
            return b""
        if proof.is_done:
            self._channel_proof = None
            if self.was_dialed:
                self._begin()
        return data

    def _fail(self, tls: TlsTransport, cause: str) -> None:
        self.failure = cause
        if self._transport is not None:
            self._transport.write(tls.take_output())  # may contain an alert with the reason
        if self.was_dialed:
            self.close()
        else:
            self._owner.turn_away(self, cause)

    def _look_at(self, data: bytes) -> None:
        """Check the opening of an incoming connection."""
        self._first += data
        if not OPENING.startswith(self._first[: len(OPENING)]):
            self._owner.turn_away(self, NOT_A_MEMBER)
        elif len(self._first) >= len(OPENING):
            data, self._first = self._first, b""
            self._begin()
            if self.has_begun:
                self._owner.received(self, data)

    def _begin(self) -> None:
        self.has_begun = self._owner.began(self)
        if not self.has_begun:
            self.abort()
        self._settle_ready()

    def _settle_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _is_held_up(self, *, is_held_up: bool) -> None:
        if self.number is not None and self.has_begun and not self._is_over:
            self._owner.held_up(self.number, is_held_up=is_held_up)
