"""How a method that is awaited becomes one that waits: the same name, arguments and documentation.

    class PullConsumer(Facade[aio.PullConsumer]):
        poll = waits(aio.PullConsumer.poll)            what is awaited
        subscribe = passes(aio.PullConsumer.subscribe)      what is not, on the loop's thread

There is no second implementation: a façade has a client of asyncio, and a thread to run it in.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from gantrymq.client.blocking import loop_thread
from gantrymq.client.core.errors import ClientError, StateError
from gantrymq.client.core.push.listeners import Listener, WrappedListener


class Member(Protocol):
    """A producer or consumer on asyncio."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


A = TypeVar("A", bound=Member)
P = ParamSpec("P")
T = TypeVar("T")


class Facade(Generic[A]):
    """Use it by `with`, or `start` and `close`; from any thread."""

    def __init__(self, member: A) -> None:
        self._member = member
        self._thread: loop_thread.LoopThread | None = None

    def start(self) -> None:
        """Connect; raises what the asyncio client's `start` raises."""
        if self._thread is not None:
            raise StateError("it was started before; make a new one for each start")
        thread = self._thread = loop_thread.join()
        try:
            thread.run(self._member.start())
        except BaseException:
            if self._thread is thread:  # else `close` has left it meanwhile
                self._thread = None
                thread.leave()
            raise

    def close(self) -> None:
        """As the asyncio client's; twice does nothing."""
        self._end(self._member.close)

    def _end(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        thread = self._thread
        if thread is None:
            return
        thread.must_be_usable()
        self._thread = None
        try:
            thread.run(close())
        finally:
            thread.leave()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A child of a fork that leaves by `sys.exit`, say, has nothing to close, and goes on."""
        if error is not None and self._thread is not None and self._thread.is_of_parent:
            return
        self.close()

    @property
    def thread(self) -> loop_thread.LoopThread:
        """Where the client lives."""
        if self._thread is None:
            raise StateError(
                f"{type(self).__name__} service state not OK: start it first (or use it by"
                " `with`), and not after it was closed"
            )
        return self._thread


# Any: what a coroutine is sent is asyncio's affair.
def waits(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Facade[A], P], T]:
    """The method of an asyncio client, waited for."""

    @wraps(method)
    def waiting(self: Facade[A], /, *arguments: P.args, **named: P.kwargs) -> T:
        return self.thread.run(method(self._member, *arguments, **named))

    return waiting


def passes(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Facade[A], P], T]:
    """A plain method of an asyncio client: on its loop once it is started."""

    @wraps(method)
    def passing(self: Facade[A], /, *arguments: P.args, **named: P.kwargs) -> T:
        member, thread = self._member, self._thread
        if thread is None:
            return method(member, *arguments, **named)
        return thread.call(lambda: method(member, *arguments, **named))

    return passing


def in_pool(
    pool: ThreadPoolExecutor, function: Callable[P, T | Awaitable[T]]
) -> Callable[P, Awaitable[T]]:
    """A user's function, called where it may block; an async one stays on the loop."""

    def contained(*arguments: P.args, **named: P.kwargs) -> T | Awaitable[T]:
        """What ends a thread must not end the loop's: everybody would wait for it for ever."""
        try:
            return function(*arguments, **named)
        except (SystemExit, KeyboardInterrupt) as error:
            raise ClientError(
                f"{function} raised {error!r}, which ends no program from a thread: have the main"
                " thread end it"
            ) from error

    @wraps(function)
    async def called(*arguments: P.args, **named: P.kwargs) -> T:
        result: T | Awaitable[T]
        if inspect.iscoroutinefunction(function):
            result = function(*arguments, **named)
        else:
            submitted: Future[T | Awaitable[T]] = pool.submit(contained, *arguments, **named)
            result = await _awaited(submitted)
        return await result if isinstance(result, Awaitable) else result

    return called


def in_pool_inside(pool: ThreadPoolExecutor, listener: Listener) -> Listener:
    """A listener, called where it may block; what is wrapped around it stays on the loop."""
    wrapped: object = listener
    if isinstance(wrapped, WrappedListener):
        return wrapped.around(in_pool(pool, wrapped.inner))
    return in_pool(pool, listener)


def _awaited(submitted: Future[T]) -> asyncio.Future[T]:
    return asyncio.wrap_future(submitted)
