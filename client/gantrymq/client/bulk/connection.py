"""Provides one blocking connection to a server; responses arrive in any order.

The body of a response is received directly into the bytes object that the caller gets, without a
copy (with TLS there is one copy).

Invariant: after any error the connection is closed, and its outstanding requests get no response.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from typing import Final, final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.bounds import FRAME_BYTES_MAX, HEADER_BYTES_MAX
from gantrymq.base.errors import RemoteError
from gantrymq.remoting.failures import ConnectError, ConnectionLostError, RequestTimeoutError
from gantrymq.runtime.clock import SYSTEM_CLOCK
from gantrymq.runtime.net.address import parse_address
from gantrymq.runtime.security.signing import signer_of
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import decode_frame, encode, frame_length
from gantrymq.wire.version import OWN_VERSION

_PREFIX_BYTES: Final = 8
_OPAQUE_MASK: Final = 0x7FFFFFFF
_TIME_OF_SOCKETS: Final = struct.Struct("@ll")  # timeval: seconds, microseconds

Context = Callable[[], ssl.SSLContext]


@final
class Connection:
    """One blocking connection to a server, used by one thread: `send`, then `receive` the response;
    or `ask` for both. Its owner closes it."""

    def __init__(
        self,
        address: str,
        *,
        connect_timeout_s: float,
        answer_timeout_s: float,
        credentials: Credentials | None = None,
        context: Context | None = None,
    ) -> None:
        """Raises ConnectError."""
        self.address = address
        self._signer = signer_of(credentials)
        self._answer_timeout_s = answer_timeout_s
        self._opaque = 0
        self._answers: dict[int, Command] = {}
        self._socket = self._connected(connect_timeout_s, context)

    @property
    def is_open(self) -> bool:
        """Whether this side has not closed it; the server may have closed it nevertheless."""
        return self._socket.fileno() >= 0

    def ask(self, command: Command) -> Command:
        """Send a request and return its response; raises RequestError if there is none."""
        return self.receive(self.send(command))

    def send(self, command: Command) -> int:
        """Send a request; returns the number by which `receive` finds its response."""
        if self._signer is not None:
            command = self._signer.signed(command, SYSTEM_CLOCK.wall_ms())
        self._opaque = (self._opaque + 1) & _OPAQUE_MASK
        command.opaque = self._opaque
        command.language, command.version = LanguageCode.JAVA, OWN_VERSION
        try:
            self._socket.sendall(encode(command))
        except OSError as error:
            raise self._lost(error) from error
        return self._opaque

    def receive(self, opaque: int) -> Command:
        """Return the response to the request with this number; other responses are kept."""
        while opaque not in self._answers:
            answer = self._next()
            if answer.is_response:
                self._answers[answer.opaque] = answer
        return self._answers.pop(opaque)

    def close(self) -> None:
        """Close the socket. A second call does nothing."""
        self._socket.close()

    # ------------------------------------------------------------------ bytes

    def _next(self) -> Command:
        """Return the next command of the stream, which may also be a request of the server."""
        try:
            prefix = self._exactly(_PREFIX_BYTES)
            length = frame_length(prefix, 0, FRAME_BYTES_MAX, HEADER_BYTES_MAX)
            header_bytes = int.from_bytes(prefix[5:8])
            head = prefix + self._exactly(header_bytes)
            command = decode_frame(head, 0, len(head))
            command.body = self._exactly(length - len(head))
        except OSError as error:
            raise self._lost(error) from error
        except RemoteError:
            self.close()
            raise
        return command

    def _exactly(self, count: int) -> bytes:
        """Return `count` bytes. Usually one call fills one object."""
        data = self._received(count)
        if len(data) == count:
            return data
        pieces = [data]
        left = count - len(data)
        while left > 0:
            pieces.append(self._received(left))
            left -= len(pieces[-1])
        return b"".join(pieces)

    def _received(self, count: int) -> bytes:
        if count == 0:
            return b""
        data = self._socket.recv(count, self._flags)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        return data

    def _lost(self, error: OSError) -> ConnectionLostError | RequestTimeoutError:
        self.close()
        if isinstance(error, (TimeoutError, BlockingIOError, ssl.SSLWantReadError)):
            return RequestTimeoutError(
                f"{self.address} sent nothing for {self._answer_timeout_s:g} s"
            )
        return ConnectionLostError(f"the connection to {self.address} ended: {error}")

    # ------------------------------------------------------------------ connecting

    def _connected(self, timeout_s: float, context: Context | None) -> socket.socket:
        try:
            plain = socket.create_connection(parse_address(self.address), timeout_s)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._flags = 0
                return self._encrypted(plain, context)
        except OSError as error:
            raise ConnectError(f"{self.address} cannot be reached: {error}") from error
        # The kernel measures the timeout, so that one call can wait for a whole body. With Python's
        # own timeout, each call returns what has arrived, and the pieces must be joined.
        plain.settimeout(None)
        seconds = int(self._answer_timeout_s)
        microseconds = int((self._answer_timeout_s - seconds) * 1e6)
        timeval = _TIME_OF_SOCKETS.pack(seconds, microseconds)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            plain.setsockopt(socket.SOL_SOCKET, option, timeval)
        self._flags = socket.MSG_WAITALL
        return plain

    def _encrypted(self, plain: socket.socket, context: Context) -> socket.socket:
        try:
            encrypted = context().wrap_socket(plain)
        except OSError:
            plain.close()
            raise
        encrypted.settimeout(self._answer_timeout_s)
        return encrypted
