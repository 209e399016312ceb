"""Connects clients to servers in memory, without sockets and without delay.

Every command is encoded as a frame and decoded again, as on a real connection, so that a value that
the protocol cannot carry fails here, too. Invariant: each request ends once: by its response, by
its timeout in virtual time, or when its link closes.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, final

from gantrymq.acl.signature.signature import signed
from gantrymq.client.aio.machinery.environment import Identity, Serve
from gantrymq.remoting.failures import ConnectError, ConnectionLostError, RequestTimeoutError
from gantrymq.testing.memory_servers import Peer
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import FLAG_ONEWAY, FLAG_RESPONSE, Command
from gantrymq.wire.frames import decode_frame, encode
from gantrymq.wire.version import OWN_VERSION

if TYPE_CHECKING:
    from gantrymq.testing.timeline import Timeline


class MemoryServer(Protocol):
    """A server that accepts links."""

    def handle(self, peer: Peer, command: Command) -> None: ...

    def closed(self, peer: Peer) -> None: ...


class Switchboard(Protocol):
    """The side that has the servers: it finds them by address."""

    timeline: Timeline

    def listening(self, address: str) -> tuple[MemoryServer, str] | None:
        """The server that listens on the address, and the name of its listener."""

    def stirred(self) -> None:
        """Called when a client has something to do."""

    def client_answered(self, number: int, response: Command | None) -> None:
        """Called with a client's response to a request of the broker."""


@final
class MemoryLinks:
    """The links of one client."""

    def __init__(self, board: Switchboard, identity: Identity, serve: Serve, host: str) -> None:
        """`host` is the client's address as servers see it."""
        self._board = board
        self._identity = identity
        self._serve = serve
        self._host = host
        self._ports = itertools.cycle(range(40_000, 60_000))
        self._links: dict[str, MemoryLink] = {}

    def connection(self, address: str) -> MemoryLink:
        link = self._links.get(address)
        if link is None or link.is_closing:
            peer = f"{self._host}:{next(self._ports)}"
            link = self._links[address] = MemoryLink(
                self._board, address, peer, self._serve, self._identity
            )
        return link

    async def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()


@final
class MemoryLink:
    """A link to one address; the server sees a `Peer`."""

    def __init__(
        self, board: Switchboard, address: str, peer: str, serve: Serve, identity: Identity
    ) -> None:
        self._board = board
        self._address = address
        self._serve = serve
        self._identity = identity
        self._server: MemoryServer | None = None
        self._opaques = itertools.count()
        self._waiting: dict[int, asyncio.Future[Command]] = {}
        self.peer = peer
        self.listener = ""
        self.certificate_names: tuple[str, ...] = ()
        self.is_closing = False

    # ------------------------------------------------------------------ what the client calls

    async def request(self, command: Command, timeout_s: float) -> Command:
        """Raises RequestError."""
        server = self._reached()
        opaque = next(self._opaques)
        future: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._waiting[opaque] = future
        timeline = self._board.timeline
        late = RequestTimeoutError(f"{self._address} did not answer in {timeout_s:g} s")
        alarm = timeline.call_at(timeline.now + timeout_s, partial(self._fail, opaque, late))
        try:
            server.handle(self, self._outgoing(command, opaque, 0))
            return await future
        finally:
            alarm.cancel()
            self._waiting.pop(opaque, None)

    async def notify(self, command: Command) -> None:
        """Raises ConnectError."""
        server = self._reached()
        server.handle(self, self._outgoing(command, next(self._opaques), FLAG_ONEWAY))

    def close(self) -> None:
        self.cut("the client closed it")

    def _reached(self) -> MemoryServer:
        found = self._board.listening(self._address)
        if found is None:
            self.cut("no server listens there any more")
            raise ConnectError(f"cannot connect to {self._address}: no server listens there")
        if self.is_closing:
            raise ConnectError(f"cannot connect to {self._address}: the link was closed")
        self._server, self.listener = found
        return self._server

    def _outgoing(self, command: Command, opaque: int, flag: int) -> Command:
        if self._identity.credentials is not None:
            command = signed(command, self._identity.credentials)
        command.opaque = opaque
        command.flag = flag
        command.language = LanguageCode.PYTHON
        command.version = OWN_VERSION
        return travelled(command)

    def _fail(self, opaque: int, error: Exception) -> None:
        future = self._waiting.pop(opaque, None)
        if future is not None and not future.done():
            future.set_exception(error)
            self._board.stirred()

    # ------------------------------------------------------------------ what the server calls

    def answered(self, request: Command, answer: Command | None) -> None:
        """Pass the answer to the waiting request; ignores None, and answers that no request waits
        for."""
        future = self._waiting.get(request.opaque)
        if answer is None or future is None or future.done() or request.is_oneway:
            return
        answer.opaque = request.opaque
        answer.flag = FLAG_RESPONSE
        answer.version = OWN_VERSION
        future.set_result(travelled(answer))
        self._board.stirred()

    def told(self, command: Command) -> None:
        command.flag |= FLAG_ONEWAY
        self._soon(self._serve, self._address, travelled(command), lambda _: None)

    def asked(self, number: int, command: Command, timeout_s: float) -> None:
        """Answer with the client's response or with the timeout, whichever comes first."""
        if self.is_closing:
            self._board.client_answered(number, None)
            return
        is_open = [True]

        def settle(response: Command | None) -> None:
            if is_open:
                is_open.clear()
                alarm.cancel()
                self._board.client_answered(number, response)
                self._board.stirred()

        timeline = self._board.timeline
        alarm = timeline.call_at(timeline.now + timeout_s, lambda: settle(None))
        self._soon(self._serve, self._address, travelled(command), settle)

    def cut(self, reason: str) -> None:
        if self.is_closing:
            return
        self.is_closing = True
        lost = ConnectionLostError(f"the connection to {self._address} ended: {reason}")
        for opaque in tuple(self._waiting):
            self._fail(opaque, lost)
        if self._server is not None:
            self._server.closed(self)

    def _soon(self, action: Callable[..., None], *arguments: object) -> None:
        """Call `action` when the server has finished its turn."""
        asyncio.get_running_loop().call_soon(action, *arguments)
        self._board.stirred()


def travelled(command: Command) -> Command:
    """The command after a round trip through the bytes of a frame."""
    frame: Final = encode(command)
    return decode_frame(frame, 0, len(frame))
