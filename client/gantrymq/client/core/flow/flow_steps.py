"""Defines flows: the client's tasks, coroutines that await only the steps of this module.

    async def end_of(queue: MessageQueue) -> int:
        answer = await Ask(address, command, timeout_s=3.0)
        await Wait(clock.monotonic() + 1.0)
        ...

Invariant: a driver executes each step that a flow yields, and sends the result into the flow or
throws the error. Nothing else resumes a flow. So the same flows run on asyncio
(`client.aio.driver`) and in virtual time (tests), and a flow does no I/O itself.

A flow differs from the generators of the broker and the store (`gantrymq.base.tasks`) in its form:
it is a coroutine. The client's code is written with `async` and `await` throughout, each step's
`__await__` gives its answer a type, and `Call` waits for functions of the user that may themselves
be coroutines. A driver also runs flows side by side (`All`) and cancels them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from gantrymq.wire.command import Command

T = TypeVar("T")

# Any: the value sent into a flow is the result of the step it yielded last.
Flow: TypeAlias = Coroutine[Any, Any, T]

FOREVER: Final = float("inf")


@final
class Signal:
    """An event that wakes all flows that wait for it, or else the next flow that does."""

    __slots__ = ("_listeners", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._listeners: list[Callable[[], None]] = []

    def fire(self) -> None:
        self.is_set = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """For drivers: call the listener once, at the next `fire`."""
        self._listeners.append(listener)

    def ignore(self, listener: Callable[[], None]) -> None:
        """For drivers: remove the listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)


@final
class Ask:
    """Sends a request; returns its response, or raises a RequestError."""

    __slots__ = ("address", "command", "timeout_s")

    def __init__(self, address: str, command: Command, timeout_s: float) -> None:
        self.address = address
        self.command = command
        self.timeout_s = timeout_s

    def __await__(self) -> Generator[Ask, Command, Command]:
        return (yield self)


@final
class Tell:
    """Sends a oneway request; raises ConnectError, but its outcome is unknown."""

    __slots__ = ("address", "command")

    def __init__(self, address: str, command: Command) -> None:
        self.address = address
        self.command = command

    def __await__(self) -> Generator[Tell, None, None]:
        yield self


@final
class Wait:
    """Waits until a time or until the signal fires; returns whether it fired."""

    __slots__ = ("signal", "until")

    def __init__(self, until: float = FOREVER, signal: Signal | None = None) -> None:
        self.until = until
        self.signal = signal

    def __await__(self) -> Generator[Wait, bool, bool]:
        signal = self.signal
        if signal is None:
            return (yield self)
        is_fired = signal.is_set or (yield self)
        if is_fired:
            signal.is_set = False
        return is_fired


@final
class Call(Generic[T]):
    """Calls a user's function; returns its result (awaited if it is awaitable), or raises its
    exception."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function = function
        self.arguments = arguments

    def __await__(self) -> Generator[Call[T], T, T]:
        return (yield self)


@final
class All(Generic[T]):
    """Runs flows concurrently; returns what each returned or raised, in their order."""

    __slots__ = ("flows",)

    def __init__(self, flows: Sequence[Flow[T]]) -> None:
        self.flows = flows

    def __await__(self) -> Generator[All[T], list[T | Exception], list[T | Exception]]:
        return (yield self) if self.flows else []


@final
class LoadFile:
    """Reads a local file; returns its content, None if it does not exist, or raises an OSError."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __await__(self) -> Generator[LoadFile, bytes | None, bytes | None]:
        return (yield self)


@final
class SaveFile:
    """Replaces a local file atomically; raises an OSError."""

    __slots__ = ("content", "path")

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content

    def __await__(self) -> Generator[SaveFile, None, None]:
        yield self


@final
class Fetch:
    """Fetches the text at a URL; raises an OSError."""

    __slots__ = ("timeout_s", "url")

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s

    def __await__(self) -> Generator[Fetch, str, str]:
        return (yield self)


Step: TypeAlias = Ask | Tell | Wait | Call[Any] | All[Any] | LoadFile | SaveFile | Fetch
