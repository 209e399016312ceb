"""What flows wait for: a flow is a coroutine that awaits nothing but the steps of this module.

    async def end_of(queue: MessageQueue) -> int:
        answer = await Ask(address, command, timeout_s=3.0)
        await Wait(clock.monotonic() + 1.0)
        ...

Invariant: a driver carries out each step that a flow yields and sends the result in, or throws what
kept it from doing so; nothing else wakes a flow. So the same flows run on asyncio
(`client.aio.driver`) and in virtual time (tests), and a flow does no I/O itself.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

from gantrymq.wire.command import Command

T = TypeVar("T")

# Any: what is sent into a flow is the result of whichever step it yielded last.
Flow: TypeAlias = Coroutine[Any, Any, T]

FOREVER: Final = float("inf")


@final
class Signal:
    """Something happened: wakes the flows that wait for it, or else the next one that does."""

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
        """For drivers: called once, by the next `fire`."""
        self._listeners.append(listener)

    def ignore(self, listener: Callable[[], None]) -> None:
        """For drivers: who listened does so no longer."""
        if listener in self._listeners:
            self._listeners.remove(listener)


@final
class Ask:
    """A request to a server; gives its response, or raises a RequestError."""

    __slots__ = ("address", "command", "timeout_s")

    def __init__(self, address: str, command: Command, timeout_s: float) -> None:
        self.address = address
        self.command = command
        self.timeout_s = timeout_s

    def __await__(self) -> Generator[Ask, Command, Command]:
        return (yield self)


@final
class Tell:
    """A oneway request; raises ConnectError, and knows nothing of what became of it."""

    __slots__ = ("address", "command")

    def __init__(self, address: str, command: Command) -> None:
        self.address = address
        self.command = command

    def __await__(self) -> Generator[Tell, None, None]:
        yield self


@final
class Wait:
    """Until this moment, or until the signal is fired; gives whether it was."""

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
    """A function of the user's; gives what it returns (awaited, should it be awaitable), or
    raises what it raises."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function = function
        self.arguments = arguments

    def __await__(self) -> Generator[Call[T], T, T]:
        return (yield self)


@final
class All(Generic[T]):
    """Several flows side by side; gives, in their order, what each returned or raised."""

    __slots__ = ("flows",)

    def __init__(self, flows: Sequence[Flow[T]]) -> None:
        self.flows = flows

    def __await__(self) -> Generator[All[T], list[T | Exception], list[T | Exception]]:
        return (yield self) if self.flows else []


@final
class LoadFile:
    """A file of this machine; gives its content, None when there is none, or raises an OSError."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __await__(self) -> Generator[LoadFile, bytes | None, bytes | None]:
        return (yield self)


@final
class SaveFile:
    """Replace a file of this machine, whole or not at all; raises an OSError."""

    __slots__ = ("content", "path")

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content

    def __await__(self) -> Generator[SaveFile, None, None]:
        yield self


@final
class Fetch:
    """The text at a URL; raises an OSError."""

    __slots__ = ("timeout_s", "url")

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s

    def __await__(self) -> Generator[Fetch, str, str]:
        return (yield self)


Step: TypeAlias = Ask | Tell | Wait | Call[Any] | All[Any] | LoadFile | SaveFile | Fetch
