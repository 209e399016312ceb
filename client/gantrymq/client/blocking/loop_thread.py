"""One event loop in a thread: where the asyncio clients of a program without asyncio live.

It begins with the first member and ends with the last. Invariant: a caller waits for what it asked,
or has interrupted it: nothing that was interrupted goes on behind its back, and a result that came
in that very moment is not lost. What is still asked for when the last member leaves ends with a
StateError: nobody waits for a loop that is no more.
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

# How long what was interrupted may take to end.
INTERRUPTED_S: Final = 5.0


@final
class LoopThread:
    """Of one process: see `join`."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._members = 0
        self._works: set[_Work[Any]] = set()  # Any: the results of all kinds of calls
        self._gate = threading.Lock()
        self._is_over = False
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(LastingPool())
        self._thread = threading.Thread(target=self._run_loop, name="gantrymq", daemon=True)
        self._thread.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    # Any: what a coroutine is sent is asyncio's affair.
    def run(self, coroutine: Coroutine[Any, Any, T], late: Callable[[T], None] | None = None) -> T:
        """What it returns or raises. Interrupted - by Ctrl-C, say - it is cancelled first; `late`
        gets what it returned all the same."""
        try:
            self.must_be_usable()
        except StateError:
            coroutine.close()
            raise
        work = _Work(coroutine)
        future = work.future
        try:
            try:
                self._schedule(partial(work.begin, self._loop, self._works))
            except StateError as refusal:
                work.abandon(refusal)
            return future.result()
        except BaseException as error:
            if future.done() and future.exception() is error:
                raise
            with suppress(StateError):  # else it ends with the loop
                self._schedule(work.abandon)
            wait([future], INTERRUPTED_S)
            if late is not None and future.done() and future.exception() is None:
                late(future.result())
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Of a plain function, on the loop."""

        async def called() -> T:
            return function()

        return self.run(called())

    def post(self, function: Callable[[], None]) -> None:
        """Have it called on the loop, soon; nobody waits for it."""
        self.must_be_usable()
        self._schedule(function)

    def _schedule(self, function: Callable[[], None]) -> None:
        """Raises StateError once the loop ends: what it took before, it still does."""
        with self._gate:
            if self._is_over:
                raise ended()
            self._loop.call_soon_threadsafe(function)

    def wait(self) -> None:
        """As long as the loop runs."""
        self.must_be_usable()
        self._thread.join()

    @property
    def is_of_parent(self) -> bool:
        """Whether this is a child of a fork: nothing here is its own."""
        return self._pid != os.getpid()

    def must_be_usable(self) -> None:
        """Raises StateError in a child of a fork, on the loop's own thread, and when the thread is
        no more: nobody would answer."""
        if self.is_of_parent:
            raise StateError(
                "this client was made before the process forked: its thread and its connections"
                " belong to the parent; make a new one in each child (gunicorn: post_fork, celery:"
                " worker_process_init)"
            )
        if not self._thread.is_alive():
            raise ended()
        if threading.get_ident() == self._thread.ident:
            raise StateError(
                "a blocking client was called on the client's own event loop, which would wait for"
                " itself: give a plain function as the listener, or use the asyncio client in it"
            )

    # ------------------------------------------------------------------ members

    def leave(self) -> None:
        """The last one ends the thread."""
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
        """Other threads wait for their calls, in vain: timers and sockets end with the loop."""
        works = tuple(self._works)
        for work in works:
            work.abandon(was_closed())
        gives_up_at = self._loop.time() + INTERRUPTED_S
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            left_s = gives_up_at - self._loop.time()
            if left_s <= 0 or not (await asyncio.wait(tasks, timeout=left_s))[0]:
                break
        for work in works:
            work.give_up()

    def enter(self) -> None:
        self._members += 1


@final
class _Work(Generic[T]):
    """One coroutine, of which somebody in another thread waits for the result. Its methods are
    called on the loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.future: Future[T] = Future()
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None
        self._because: BaseException | None = None

    def begin(self, loop: asyncio.AbstractEventLoop, works: set[_Work[Any]]) -> None:
        """It is one of the works until it ends."""
        if not self.future.done():
            self._task = loop.create_task(self._coroutine)
            works.add(self)
            self._task.add_done_callback(lambda _: works.discard(self))
            self._task.add_done_callback(self._settle)

    def abandon(self, because: BaseException | None = None) -> None:
        """Should it have begun, it ends by itself; else it never begins."""
        self._because = self._because or because
        if self._task is not None:
            self._task.cancel()
        else:
            self._coroutine.close()
            self.future.set_exception(self._because or asyncio.CancelledError())

    def give_up(self) -> None:
        """It does not end, though it was abandoned."""
        if not self.future.done():
            self.future.set_exception(self._because or asyncio.CancelledError())

    def _settle(self, ended: asyncio.Task[T]) -> None:
        if self.future.done():  # it was given up
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
    return StateError("the client's thread has ended, and all it had with it; make a new one")


def was_closed() -> StateError:
    return StateError("the client was closed by another thread before this was done")


_lock = threading.Lock()
_current: list[LoopThread] = []


def _forget() -> None:
    """A child of a fork has none of its parent's threads; its lock may be held by one."""
    global _lock  # noqa: PLW0603 - as above
    _lock = threading.Lock()
    _current.clear()


os.register_at_fork(after_in_child=_forget)


def join() -> LoopThread:
    """The thread of this process, with one more member, who leaves it once."""
    with _lock:
        if not _current:
            _current.append(LoopThread())
        _current[0].enter()
        return _current[0]
