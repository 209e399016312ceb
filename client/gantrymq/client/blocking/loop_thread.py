"""Runs one event loop in a thread, for the asyncio clients of a program without asyncio.

The thread starts with the first member and ends with the last one. Invariant: a caller waits until
its call ends, or interrupts it. An interrupted call does not continue, and a result that arrives at
that moment is not lost. Calls that run when the last member leaves end with a StateError, so no
thread waits for a loop that has ended.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar, final

from gantrymq.client.blocking.last_thread import LastingPool
from gantrymq.client.core.errors import StateError

T = TypeVar("T")

# How long an interrupted call may take to end.
INTERRUPTED_S: Final = 5.0


@final
class LoopThread:
    """The loop thread of one process, shared by all its blocking clients; see `join`."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._members = 0
        self._calls: set[_Call[Any]] = set()  # Any: the results of all kinds of calls
        self._gate = threading.Lock()
        self._is_over = False
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(LastingPool())
        self._thread = threading.Thread(target=self._run_loop, name="gantrymq", daemon=True)
        self._thread.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    # Any: what asyncio sends into a coroutine is private to asyncio.
    def run(self, coroutine: Coroutine[Any, Any, T], late: Callable[[T], None] | None = None) -> T:
        """Run the coroutine on the loop; returns its result or raises its error. If the caller is
        interrupted, for example by Ctrl-C, the coroutine is cancelled first. If it returned a
        result nevertheless, `late` gets that result."""
        try:
            self.must_be_usable()
        except StateError:
            coroutine.close()
            raise
        call = _Call(coroutine)
        future = call.future
        try:
            try:
                self._schedule(partial(call.begin, self._loop, self._calls))
            except StateError as refusal:
                call.abandon(refusal)
            return future.result()
        except BaseException as error:
            if future.done() and future.exception() is error:
                raise
            with suppress(StateError):  # otherwise it ends with the loop
                self._schedule(call.abandon)
            wait([future], INTERRUPTED_S)
            if late is not None and future.done() and future.exception() is None:
                late(future.result())
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Run a plain function on the loop and return its result."""

        async def called() -> T:
            return function()

        return self.run(called())

    def post(self, function: Callable[[], None]) -> None:
        """Schedule a function on the loop without waiting for it."""
        self.must_be_usable()
        self._schedule(function)

    def _schedule(self, function: Callable[[], None]) -> None:
        """Raises StateError once the loop ends. It still runs what was scheduled before."""
        with self._gate:
            if self._is_over:
                raise ended()
            self._loop.call_soon_threadsafe(function)

    def wait(self) -> None:
        """Wait until the loop ends."""
        self.must_be_usable()
        self._thread.join()

    @property
    def is_of_parent(self) -> bool:
        """Whether this process is a forked child, to which the thread and its sockets do not
        belong."""
        return self._pid != os.getpid()

    def must_be_usable(self) -> None:
        """Raises StateError in a forked child, on the loop's own thread, and after the thread has
        ended, because a call would never return there."""
        if self.is_of_parent:
            raise StateError(
                "This client was made before the process forked, so its thread and connections"
                " belong to the parent process. Make a new client in each child (gunicorn:"
                " post_fork, celery: worker_process_init)."
            )
        if not self._thread.is_alive():
            raise ended()
        if threading.get_ident() == self._thread.ident:
            raise StateError(
                "A blocking client was called on the client's own event loop, which would wait for"
                " itself. Give a plain function as the listener, or use the asyncio client in it."
            )

    # ------------------------------------------------------------------ members

    def leave(self) -> None:
        """Remove one member; the last one ends the thread."""
        if self.is_of_parent:
            return
        with _lock:
            self._members -= 1
            if self._members > 0:
                return
            _current.clear()
        with self._gate:
            self._is_over = True
            self._loop.call_soon_threadsafe(self._wind_up)
        self._thread.join()
        self._loop.close()

    def _wind_up(self) -> None:
        self._loop.create_task(self._end_all()).add_done_callback(lambda _: self._loop.stop())

    async def _end_all(self) -> None:
        """End the calls that other threads wait for: timers and sockets end with the loop."""
        calls = tuple(self._calls)
        for call in calls:
            call.abandon(was_closed())
        gives_up_at = self._loop.time() + INTERRUPTED_S
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            left_s = gives_up_at - self._loop.time()
            if left_s <= 0 or not (await asyncio.wait(tasks, timeout=left_s))[0]:
                break
        for call in calls:
            call.give_up()

    def enter(self) -> None:
        self._members += 1


@final
class _Call(Generic[T]):
    """One coroutine whose result another thread waits for. Its methods run on the loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.future: Future[T] = Future()
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None
        self._because: BaseException | None = None

    def begin(self, loop: asyncio.AbstractEventLoop, calls: set[_Call[Any]]) -> None:
        """Start the coroutine; it is one of `calls` until it ends."""
        if not self.future.done():
            self._task = loop.create_task(self._coroutine)
            calls.add(self)
            self._task.add_done_callback(lambda _: calls.discard(self))
            self._task.add_done_callback(self._settle)

    def abandon(self, because: BaseException | None = None) -> None:
        """Cancel the coroutine, or never start it."""
        self._because = self._because or because
        if self._task is not None:
            self._task.cancel()
        else:
            self._coroutine.close()
            self.future.set_exception(self._because or asyncio.CancelledError())

    def give_up(self) -> None:
        """End the wait for a coroutine that does not react to its cancellation."""
        if not self.future.done():
            self.future.set_exception(self._because or asyncio.CancelledError())

    def _settle(self, ended: asyncio.Task[T]) -> None:
        if self.future.done():  # `give_up` came first
            return
        if ended.cancelled():
            self.future.set_exception(self._because or asyncio.CancelledError())
            return
        error = ended.exception()
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(ended.result())


def ended() -> StateError:
    return StateError(
        "The client's thread has ended, and its connections with it. Make a new client."
    )


def was_closed() -> StateError:
    return StateError("The client was closed by another thread before this call ended.")


_lock = threading.Lock()
_current: list[LoopThread] = []


def _forget() -> None:
    """Start anew in a forked child: it has no thread of its parent, and a thread of the parent may
    hold the lock."""
    global _lock  # noqa: PLW0603 - as above
    _lock = threading.Lock()
    _current.clear()


os.register_at_fork(after_in_child=_forget)


def join() -> LoopThread:
    """Return the thread of this process, with one more member, which calls `leave` once."""
    with _lock:
        if not _current:
            _current.append(LoopThread())
        _current[0].enter()
        return _current[0]
