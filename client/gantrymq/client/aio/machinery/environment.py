"""Defines the environment of a client: time, randomness, connections and files.

`REAL` is this machine's clock, TCP and files. `gantrymq.testing` has an environment with a clock of
its own and brokers in the same process.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias, final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.client.core.instance.hooks import RequestHook
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.dialer import Dialer, DialerSettings
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.storage.files import save_now
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

Respond: TypeAlias = Callable[[Command | None], None]
"""Takes the response to a server's request; None: there is no response."""

Serve: TypeAlias = Callable[[str, Command, Respond], None]
"""Takes a request from the server at an address, and answers it now or later."""


# Java's clients close a connection on which a request timed out, except for very short timeouts;
# this is longer than a garbage collection pauses a server.
SILENCE_SECONDS: Final = 0.5

# Maximum size of the page with the list of name servers, which is one line.
PAGE_BYTES_MAX: Final = 1 << 16


class Link(Protocol):
    """The connection to one address."""

    async def request(self, command: Command, timeout_s: float) -> Command: ...

    async def notify(self, command: Command) -> None: ...


class Links(Protocol):
    """The connections to all addresses."""

    def connection(self, address: str) -> Link: ...

    async def close(self) -> None: ...


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None: ...


class Environment(Protocol):
    """The environment of a client."""

    @property
    def clock(self) -> Clock: ...

    @property
    def chance(self) -> Callable[[int], int]:
        """Return a random number from 0 to below the argument."""

    def call_at(self, moment: float, action: Callable[[], None]) -> Timer:
        """Call `action` on the event loop when the clock reaches `moment`."""

    def links(self, identity: Identity, serve: Serve) -> Links: ...

    async def load_file(self, path: str) -> bytes | None:
        """Return the content; None if the file does not exist. Raises an OSError."""

    async def save_file(self, path: str, content: bytes) -> None:
        """Replace the file atomically; raises an OSError."""

    async def fetch(self, url: str, timeout_s: float) -> str:
        """Return the text at a URL; raises an OSError."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The credentials, TLS contexts and request hooks of a client."""

    credentials: Credentials | None = None
    tls: ClientContexts | None = None
    request_hooks: tuple[RequestHook, ...] = ()


@final
class RealEnvironment:
    """This machine's clock, TCP and files."""

    clock: Clock = SYSTEM_CLOCK

    def __init__(self) -> None:
        self.chance: Callable[[int], int] = random.randrange  # random reseeds in a forked child

    def call_at(self, moment: float, action: Callable[[], None]) -> Timer:
        delay_s = max(0.0, moment - self.clock.monotonic())
        return asyncio.get_running_loop().call_later(delay_s, action)

    def links(self, identity: Identity, serve: Serve) -> Links:
        return Dialer(
            settings=DialerSettings(
                session=SessionLimits(silence_seconds=SILENCE_SECONDS), language=LanguageCode.PYTHON
            ),
            tls=identity.tls,
            credentials=identity.credentials,
            handler=_Handler(serve),
        )

    async def load_file(self, path: str) -> bytes | None:
        return await asyncio.to_thread(_content, path)

    async def save_file(self, path: str, content: bytes) -> None:
        failure = await asyncio.to_thread(save_now, Path(path), content)
        if failure is not None:
            raise OSError(failure.cause)

    async def fetch(self, url: str, timeout_s: float) -> str:
        return await asyncio.to_thread(_page, url, timeout_s)


@final
class _Handler:
    """Passes requests from servers to the client."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        del now
        for command in commands:
            self._serve(channel.peer, command, _responder(channel, command))


def _responder(channel: Channel, request: Command) -> Respond:
    def respond(response: Command | None) -> None:
        if response is None:
            channel.release(request)
        else:
            channel.respond(request, response)

    return respond


def _page(url: str, timeout_s: float) -> str:
    from urllib.request import urlopen  # noqa: PLC0415 - few ask for pages, and it is large

    with urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - the user's own configuration
        return str(answer.read(PAGE_BYTES_MAX).decode())


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None


REAL: Final[Environment] = RealEnvironment()
