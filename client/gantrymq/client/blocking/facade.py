"""Turns the methods of asyncio clients into blocking methods with the same names and arguments.

    class PullConsumer(Facade[aio.PullConsumer]):
        poll = waits(aio.PullConsumer.poll)                 a coroutine function
        subscribe = passes(aio.PullConsumer.subscribe)      a plain function, run on the event loop

A façade implements nothing itself: it owns an asyncio client and a thread that runs it.
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
    """The base of blocking clients. Use it with `with`, or call `start` and `close`, from any
    thread."""

    def __init__(self, member: A) -> None:
        self._member = member
        self._thread: loop_thread.LoopThread | None = None

    def start(self) -> None:
        """Connect; raises what the asyncio client's `start` raises."""
        if self._thread is not None:
            raise StateError("The client was started before. Make a new client for each start.")
        thread = self._thread = loop_thread.join()
        try:
            thread.run(self._member.start())
        except BaseException:
            if self._thread is thread:  # otherwise `close` has left it already
                self._thread = None
                thread.leave()
            raise

    def close(self) -> None:
        """Close like the asyncio client. A second call does nothing."""
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
        """Close the client. A forked child that leaves the block by an error, such as SystemExit,
        closes nothing, because the client belongs to its parent."""
        if error is not None and self._thread is not None and self._thread.is_of_parent:
            return
        self.close()

    @property
    def thread(self) -> loop_thread.LoopThread:
        """The thread that runs the client."""
        if self._thread is None:
            raise StateError(
                f"{type(self).__name__} service state not OK: start it first (or use it by"
                " `with`), and not after it was closed"
            )
        return self._thread


# Any: what asyncio sends into a coroutine is private to asyncio.
def waits(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Facade[A], P], T]:
    """Return a method that runs the coroutine method and waits for its result."""

    @wraps(method)
    def waiting(self: Facade[A], /, *arguments: P.args, **named: P.kwargs) -> T:
        return self.thread.run(method(self._member, *arguments, **named))

    return waiting


def passes(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Facade[A], P], T]:
    """Return a method that runs the plain method on the client's loop once it is started."""

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
    """Wrap a user's function so that it runs in the pool, where it can block. An async function
    runs on the loop."""

    def contained(*arguments: P.args, **named: P.kwargs) -> T | Awaitable[T]:
        """An exception that ends a thread must not end the loop's thread, because all callers would
        then wait for ever."""
        try:
            return function(*arguments, **named)
        except (SystemExit, KeyboardInterrupt) as error:
            raise ClientError(
                f"{function} raised {error!r}, which cannot end the program from a thread. End the"
                " program in its main thread."
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
    """Like `in_pool` for a listener; a wrapper around the listener, such as `once`, runs on the
    loop."""
    wrapped: object = listener
    if isinstance(wrapped, WrappedListener):
        return wrapped.around(in_pool(pool, wrapped.inner))
    return in_pool(pool, listener)


def _awaited(submitted: Future[T]) -> asyncio.Future[T]:
    return asyncio.wrap_future(submitted)
