"""Provides a blocking RocketMQ connection that sends any bytes an attacker may send.

Frames are encoded and decoded by the product's wire package, because an attack is about what the
server does with a frame. `send_bytes` sends bytes that are no frame.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, final

from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.wire import frames
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.version import OWN_VERSION

ANSWER_SECONDS: Final = 10.0
READ_BYTES: Final = 1 << 16
CLOSED: Final = "closed"
SILENT: Final = "no answer"


@final
@dataclass(frozen=True, slots=True)
class Address:
    """One port of a server, and how to connect to it."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    source: str = ""
    """The address to connect from; the kernel's choice if empty."""

    def seen_from(self, source: str) -> Address:
        """The same port, for a peer at another address of this machine."""
        return replace(self, source=source)

    def open_plain(self, seconds: float = ANSWER_SECONDS) -> socket.socket:
        """Connect without TLS."""
        source = (self.source, 0) if self.source else None
        return socket.create_connection((self.host, self.port), seconds, source)

    def open(self, seconds: float = ANSWER_SECONDS) -> socket.socket:
        """Connect, with the TLS handshake if the port requires TLS."""
        stream = self.open_plain(seconds)
        if self.tls is None:
            return stream
        try:
            return self.tls.wrap_socket(stream)
        except OSError:
            stream.close()
            raise

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@final
class Peer:
    """One connection of an attacker. The test owns it, and closes it."""

    def __init__(self, address: Address, credentials: Credentials | None = None) -> None:
        self.stream = address.open()
        self._credentials = credentials
        self._reader = FrameReader()
        self._read: deque[Command] = deque()
        self._opaque = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, in any state."""
        with contextlib.suppress(OSError):
            self.stream.close()

    def frame(
        self,
        code: int,
        ext: Mapping[str, str] | None = None,
        body: bytes = b"",
        flag: int = 0,
    ) -> bytes:
        """The frame of a request, signed if the peer has credentials."""
        self._opaque += 1
        command = Command(
            code, flag=flag, ext=dict(ext or {}), body=body, version=OWN_VERSION, encoding=0
        )
        if self._credentials is not None:
            command = signed(command, self._credentials)
        command.opaque = self._opaque
        return frames.encode(command)

    def send(
        self,
        code: int,
        ext: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        oneway: bool = False,
    ) -> None:
        """Send a request without waiting. Raises OSError if the server has closed the
        connection."""
        self.stream.sendall(self.frame(code, ext, body, FLAG_ONEWAY if oneway else 0))

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self.stream.sendall(data)

    def receive(self, seconds: float = ANSWER_SECONDS) -> Command:
        """The next response or request of the server, in the order of arrival."""
        self.stream.settimeout(seconds)
        while not self._read:
            data = self.stream.recv(READ_BYTES)
            if not data:
                raise ConnectionError("closed by the server")
            self._read.extend(self._reader.decode(data))
        return self._read.popleft()

    def ask(self, code: int, ext: Mapping[str, str] | None = None, body: bytes = b"") -> Command:
        """Send a request; returns its response and drops the server's own requests."""
        self.send(code, ext, body)
        opaque = self._opaque
        while True:
            answer = self.receive()
            if answer.is_response and answer.opaque == opaque:
                return answer

    def is_closed(self, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether the server closes the connection within this time, possibly after sending
        more."""
        self.stream.settimeout(seconds)
        try:
            while self.stream.recv(READ_BYTES):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True


def say(address: Address, *pieces: bytes, seconds: float = 2.0) -> bytes:
    """Send bytes on a new connection; returns what the server sends until it closes or is
    silent."""
    said = bytearray()
    with contextlib.suppress(OSError), address.open_plain(seconds) as stream:
        for piece in pieces:
            stream.sendall(piece)
        while data := stream.recv(READ_BYTES):
            said += data
    return bytes(said)


@final
class Connections:
    """Many connections that are held open at the same time; closed when the block ends."""

    def __init__(self) -> None:
        self.streams: list[socket.socket] = []
        self.refused = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in self.streams:
            with contextlib.suppress(OSError):
                stream.close()

    def open(self, address: Address, count: int, *pieces: bytes) -> None:
        """Open so many connections and send the pieces on each; counts those that the server
        closes."""
        for _ in range(count):
            try:
                stream = address.open_plain()
                self.streams.append(stream)
                for piece in pieces:
                    stream.sendall(piece)
            except OSError:
                self.refused += 1

    def closed(self) -> int:
        """The number of connections that the server has closed."""
        return sum(1 for stream in self.streams if _is_closed_now(stream))


def _is_closed_now(stream: socket.socket) -> bool:
    stream.setblocking(False)
    try:
        return stream.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@final
class Answers:
    """Counts the responses to an attack by response code, and the attempts without a response."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, answer: Command) -> Command:
        """Count a response; returns it."""
        self.counts[f"code {answer.code}"] += 1
        return answer

    def ended(self, error: OSError) -> None:
        """Count an attempt that got no response."""
        self.counts[SILENT if isinstance(error, TimeoutError) else CLOSED] += 1

    def drain(self, peer: Peer, wanted: int, seconds: float = ANSWER_SECONDS) -> None:
        """Read this many frames, or until the server closes or is silent."""
        for _ in range(wanted):
            try:
                self.add(peer.receive(seconds))
            except OSError as error:
                self.ended(error)
                return

    def __str__(self) -> str:
        return ", ".join(f"{count} times {what}" for what, count in sorted(self.counts.items()))


def ask_each(
    address: Address,
    requests: Iterable[tuple[int, Mapping[str, str], bytes]],
    credentials: Credentials | None = None,
) -> Answers:
    """Send the requests one after the other, reconnect if the server closes, and count the
    responses."""
    answers = Answers()
    peer: Peer | None = None
    try:
        for code, ext, body in requests:
            try:
                if peer is None:
                    peer = Peer(address, credentials)
                answers.add(peer.ask(code, ext, body))
            except OSError as error:
                answers.ended(error)
                if peer is not None:
                    peer.close()
                peer = None
    finally:
        if peer is not None:
            peer.close()
    return answers
