"""Translates between a socket and its session: TLS or plain, decided by the first byte.

If the listener allows it, a load balancer's PROXY header is removed first.

A TLS connection begins with 0x16, a frame with the top byte of its length, which is 0 or 1. The
first byte must be read before the decision, so TLS runs here over memory buffers instead of in the
event loop. State: UNDECIDED -> PLAIN, or UNDECIDED -> HANDSHAKE -> OPEN -> BROKEN, by input that
cannot be decrypted: after that nothing is encrypted any more.

Bounded: OpenSSL holds at most one record (16 KiB) that it cannot decrypt yet, and at most 128 KiB
of a handshake message, in a buffer of up to twice the size. `held_bytes` counts handshake data,
because many unauthenticated peers may hold it at once, and the base cost of each connection.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from enum import Enum
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.remoting.events import Reason
from gantrymq.remoting.proxy import ProxyHeader
from gantrymq.runtime.security.certificates import ServerContexts, TlsMode, certificate_names

TLS_HANDSHAKE_BYTE: Final = 0x16
RECORD_BYTES_MAX: Final = 16 * 1024
READ_BYTES: Final = 4 * RECORD_BYTES_MAX

# A handshake takes two round trips and a few ms of computation; Netty's own limit is 10 s as well.
HANDSHAKE_SECONDS: Final = 10.0

# The memory of a connection besides received data, measured with OpenSSL 3 over thousands of them:
# 47 KiB during the handshake, 17 to 18 KiB afterwards.
HANDSHAKE_BASE_BYTES: Final = 48 * 1024
OPEN_BASE_BYTES: Final = 18 * 1024

# OpenSSL's buffer for an incomplete message grows by doubling.
HANDSHAKE_ROOM: Final = 2


class TlsTransportError(RemoteError):
    """The connection must be closed: its TLS or plain data is not accepted."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class TlsTransportState(Enum):
    """The state of a TLS transport."""

    UNDECIDED = 0
    HANDSHAKE = 1
    OPEN = 2
    PLAIN = 3
    BROKEN = 4


@final
class TlsTransport:
    """The TLS state of one connection. `receive` takes bytes of the socket, returns the
    session's."""

    __slots__ = (
        "_context",
        "_handshake_bytes",
        "_incoming",
        "_mode",
        "_outgoing",
        "_proxy",
        "_tls",
        "is_finished",
        "source",
        "state",
    )

    def __init__(
        self,
        mode: TlsMode,
        context: Callable[[], ssl.SSLContext],
        proxy: ProxyHeader | None = None,
    ) -> None:
        """`source` becomes the client's address from the PROXY header, if one comes."""
        self._mode = mode
        self._context = context
        self.state = TlsTransportState.UNDECIDED
        self.is_finished = False
        self.source: str | None = None
        self._proxy = proxy
        self._handshake_bytes = 0
        self._incoming: ssl.MemoryBIO | None = None
        self._outgoing: ssl.MemoryBIO | None = None
        self._tls: ssl.SSLObject | None = None

    @staticmethod
    def of_server(contexts: ServerContexts, proxy: ProxyHeader | None = None) -> TlsTransport:
        return TlsTransport(contexts.settings.mode, contexts.context, proxy)

    @staticmethod
    def of_client(context: ssl.SSLContext) -> TlsTransport:
        transport = TlsTransport(TlsMode.ENFORCING, lambda: context)
        transport._begin(server_side=False)
        transport._advance()
        return transport

    @property
    def lets_output_pass(self) -> bool:
        """Whether output can be written. If both TLS and plain are allowed, the peer must send
        first."""
        if self.state is TlsTransportState.UNDECIDED:
            return self._mode is TlsMode.DISABLED
        return self.state is not TlsTransportState.HANDSHAKE

    @property
    def is_plain(self) -> bool:
        return self.state is TlsTransportState.PLAIN

    @property
    def is_shaking_hands(self) -> bool:
        return self.state is TlsTransportState.HANDSHAKE

    @property
    def channel(self) -> bytes:
        """The channel binding: identifies this TLS connection, and is the same at both ends.

        A man in the middle has two connections whose bindings differ. Empty without TLS.
        """
        if self._tls is None or self.state is not TlsTransportState.OPEN:
            return b""
        return self._tls.get_channel_binding("tls-unique") or b""

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in the peer's certificate, if one was requested and verified."""
        if self._tls is None or self.state is not TlsTransportState.OPEN:
            return ()
        return certificate_names(self._tls.getpeercert() or {})

    @property
    def held_bytes(self) -> int:
        """The memory that TLS takes; for an unfinished handshake including the received data."""
        if self._tls is None:
            return 0
        if self.is_shaking_hands:
            return HANDSHAKE_BASE_BYTES + HANDSHAKE_ROOM * self._handshake_bytes
        return OPEN_BASE_BYTES

    def receive(self, data: bytes) -> bytes:
        """The session's part of `data`, decrypted; raises TlsTransportError."""
        if self.state is TlsTransportState.PLAIN:
            return data
        if self._proxy is not None:
            data = self._take_proxy_header(self._proxy, data)
            if not data:
                return data
        if self.state is TlsTransportState.UNDECIDED:
            self._decide(data[0])
            if self._tls is None:
                return data
        assert self._incoming is not None
        self._incoming.write(data)
        if self.state is TlsTransportState.HANDSHAKE:
            self._handshake_bytes += len(data)
            self._advance()
        return self._decrypt() if self.state is TlsTransportState.OPEN else b""

    def encrypt(self, pieces: list[bytes]) -> list[bytes]:
        """The session's output in the form in which it goes to the socket."""
        if self._tls is None:
            return pieces
        if self.state is not TlsTransportState.BROKEN:
            for piece in pieces:
                self._tls.write(piece)
        return [self.take_output()]

    def take_output(self) -> bytes:
        """The output of TLS itself: handshake messages and alerts."""
        return self._outgoing.read() if self._outgoing is not None else b""

    def close(self) -> None:
        """Send TLS's close notification, so that the peer can tell an end from an interruption."""
        if self._tls is not None and self.state is TlsTransportState.OPEN:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                return  # OpenSSL also wants the peer's close notification; it is not awaited

    def _take_proxy_header(self, proxy: ProxyHeader, data: bytes) -> bytes:
        try:
            rest = proxy.decode(data)
        except RemoteError as error:
            raise TlsTransportError(Reason.GARBAGE, str(error)) from error
        if rest is None:
            return b""
        self.source, self._proxy = proxy.source, None
        return rest

    def _decide(self, first_byte: int) -> None:
        is_tls = first_byte == TLS_HANDSHAKE_BYTE
        if is_tls and self._mode is TlsMode.DISABLED:
            raise TlsTransportError(
                Reason.TLS_DISABLED, "a TLS client, and tls.server.mode is disabled"
            )
        if not is_tls and self._mode is TlsMode.ENFORCING:
            raise TlsTransportError(Reason.TLS_REQUIRED, "a plain client, and TLS is enforced")
        if is_tls:
            self._begin(server_side=True)
        else:
            self.state = TlsTransportState.PLAIN

    def _begin(self, *, server_side: bool) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = self._context().wrap_bio(
            self._incoming, self._outgoing, server_side=server_side
        )
        self.state = TlsTransportState.HANDSHAKE

    def _advance(self) -> None:
        assert self._tls is not None
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise TlsTransportError(Reason.HANDSHAKE_FAILED, _text(error)) from error
        self.state = TlsTransportState.OPEN

    def _decrypt(self) -> bytes:
        assert self._tls is not None
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(READ_BYTES):
                pieces.append(piece)
            self.is_finished = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_finished = True
        except ssl.SSLError as error:
            self.state = TlsTransportState.BROKEN
            raise TlsTransportError(Reason.GARBAGE, _text(error)) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _text(error: ssl.SSLError) -> str:
    reason = getattr(error, "verify_message", None) or error.reason or str(error)
    return f"TLS: {str(reason).replace('_', ' ').lower()}"
