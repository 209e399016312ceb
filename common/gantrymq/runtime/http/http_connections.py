"""Bounds the connections of an HTTP server, so that a probe always finds a free slot.

    accepted ──> waiting ──request for a probe──> probe ──answered──> closed
                    ├──────request for a page───> page  ──answered──> closed
                    └──────scrape──> scrape ──written──> page

There are four separate kinds of slots: for connections without a complete request yet, for probes,
for scrapes that wait for their page, and for responses that are being read. So idle connections,
and scrapers that do not read their responses, cannot take the slots of probes. When all slots of a
kind are taken, a new connection gets the slot of the oldest connection of the address that holds
the most: a flood from one address closes its own connections first, and a kubelet at another
address is served. Only a scrape of the address that holds the most is refused instead, because
the scrapes before it are about to be answered.

Invariant: each connection holds one slot from its start to its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar, cast, final

from aiohttp.http import HttpProcessingError

C = TypeVar("C", bound=Hashable)

# A loop accepts up to the backlog of connections in one iteration, and reads their requests two
# iterations later: so the newest of three backlogs has sent its request before its slot is taken.
BACKLOG: Final = 128
WAITING_MAX: Final = 3 * BACKLOG
# An honest client sends its request as soon as it is connected.
WAITING_SECONDS: Final = 3.0

# A probe is answered within about a second, and there are few kubelets and load balancers.
PROBES_MAX: Final = 64
# Each may hold a whole page in memory, several megabytes on a large broker.
PAGES_MAX: Final = 32
# A broker has a few scrapers, which ask every 15 s or so.
SCRAPES_MAX: Final = 16
# Prometheus' own default for a scrape.
ANSWER_SECONDS: Final = 10.0


@final
class Slots(Generic[C]):
    """The connections of one kind, each with the time when it got its slot."""

    __slots__ = ("_by_address", "_seconds", "_slots_max", "_taken")

    def __init__(self, slots_max: int, seconds: float) -> None:
        self._slots_max = slots_max
        self._seconds = seconds
        self._taken: dict[C, tuple[str, float]] = {}  # the oldest one first
        self._by_address: dict[str, dict[C, None]] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, connection: C, address: str, now: float) -> C | None:
        """Give the connection a slot; returns the connection that must be closed for it, or
        None."""
        closed = self._oldest_of_greediest() if len(self._taken) >= self._slots_max else None
        if closed is not None:
            self.free(closed)
        self._taken[connection] = (address, now)
        self._by_address.setdefault(address, {})[connection] = None
        return closed

    def free(self, connection: C) -> str | None:
        """Returns the connection's address; None if it has no slot of this kind."""
        taken = self._taken.pop(connection, None)
        if taken is None:
            return None
        address = taken[0]
        own = self._by_address[address]
        del own[connection]
        if not own:
            del self._by_address[address]
        return address

    def address_of(self, connection: C) -> str | None:
        """None if the connection has no slot of this kind."""
        taken = self._taken.get(connection)
        return None if taken is None else taken[0]

    def refuses(self, address: str) -> bool:
        """Whether all slots are taken, and no other address has more of them than this one."""
        if len(self._taken) < self._slots_max:
            return False
        own = self._by_address.get(address, ())
        return len(own) >= max(map(len, self._by_address.values()))

    def expired(self, now: float) -> list[C]:
        """The connections whose time is over."""
        found = []
        for connection, (_, since) in self._taken.items():
            if since + self._seconds > now:
                break
            found.append(connection)
        return found

    def _oldest_of_greediest(self) -> C:
        most = max(self._by_address, key=lambda address: len(self._by_address[address]))
        return next(iter(self._by_address[most]))


@final
class HttpConnection(asyncio.Protocol):
    """Passes one connection's events to the HTTP handler, and reports its start and end."""

    def __init__(self, handler: asyncio.Protocol, owner: HttpConnections) -> None:
        self._handler = handler
        self._owner = owner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        peer = transport.get_extra_info("peername")
        self._handler.connection_made(transport)
        self._owner.opened(self, self._handler, str(peer[0]) if peer else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._handler.connection_lost(exc)
        self._owner.ended(self, self._handler)

    def data_received(self, data: bytes) -> None:
        self._handler.data_received(data)

    def eof_received(self) -> bool | None:
        return self._handler.eof_received()

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def abort(self) -> None:
        """Close at once, whatever is in progress."""
        if self._transport is not None:
            self._transport.abort()


@final
class HttpConnections:
    """All connections of one HTTP server, which owns this and calls `expire` regularly."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._of_handler: dict[object, HttpConnection] = {}
        self.waiting: Slots[HttpConnection] = Slots(WAITING_MAX, WAITING_SECONDS)
        self.probes: Slots[HttpConnection] = Slots(PROBES_MAX, ANSWER_SECONDS)
        self.scrapes: Slots[HttpConnection] = Slots(SCRAPES_MAX, ANSWER_SECONDS)
        self.pages: Slots[HttpConnection] = Slots(PAGES_MAX, ANSWER_SECONDS)

    def __len__(self) -> int:
        return len(self._of_handler)

    def opened(self, connection: HttpConnection, handler: object, address: str) -> None:
        self._of_handler[handler] = connection
        self._take(self.waiting, connection, address)

    def asked(self, handler: object, *, is_probe: bool) -> None:
        """The connection of this handler has sent its request."""
        connection = self._of_handler.get(handler)
        if connection is None:
            return
        address = self.waiting.free(connection)
        if address is not None:
            self._take(self.probes if is_probe else self.pages, connection, address)

    def takes_scrape(self, handler: object) -> bool:
        """Move the handler's connection to a scrape slot; returns False if the scrape is
        refused."""
        connection = self._of_handler.get(handler)
        address = None if connection is None else self.waiting.address_of(connection)
        if connection is None or address is None or self.scrapes.refuses(address):
            return False
        self.waiting.free(connection)
        self._take(self.scrapes, connection, address)
        return True

    def has_page(self, handler: object) -> None:
        """Move the handler's connection to a page slot: its page is made, and the peer has to read
        it."""
        connection = self._of_handler.get(handler)
        address = None if connection is None else self.scrapes.free(connection)
        if connection is not None and address is not None:
            self._take(self.pages, connection, address)

    def ended(self, connection: HttpConnection, handler: object) -> None:
        self._of_handler.pop(handler, None)
        for slots in self._kinds:
            if slots.free(connection) is not None:
                break

    def expire(self) -> None:
        """Close the connections whose time is over."""
        now = self._monotonic()
        for slots in self._kinds:
            for connection in slots.expired(now):
                connection.abort()

    @property
    def _kinds(self) -> tuple[Slots[HttpConnection], ...]:
        return self.waiting, self.probes, self.scrapes, self.pages

    def _take(self, slots: Slots[HttpConnection], connection: HttpConnection, address: str) -> None:
        closed = slots.take(connection, address, self._monotonic())
        if closed is not None:
            closed.abort()


def error_logger() -> logging.Logger:
    """The logger for an HTTP server's own errors.

    It drops errors that peers cause: malformed requests, which are answered with 400, and
    connections that the peer closed before its response. aiohttp logs a traceback for each, so any
    peer could fill the disk.
    """
    logger = logging.getLogger("http")
    logger.addFilter(_is_own_error)  # the same filter is added only once
    return logger


def _is_own_error(record: logging.LogRecord) -> bool:
    cause = record.exc_info[1] if record.exc_info else None
    return not isinstance(cause, HttpProcessingError | ConnectionError)
