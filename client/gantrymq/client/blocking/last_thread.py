"""Provides the thread pool of the clients' event loop, which works until the program has ended.

The interpreter ends all thread pools before it calls the functions of `atexit`, and since Python
3.12 it starts no thread after that. The loop resolves host names and reads files in its pool. So
without this pool, messages that still wait at the program's end could not find their servers.

Invariant: before its `shutdown` the pool accepts every job.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import ParamSpec, TypeVar, final

P = ParamSpec("P")
T = TypeVar("T")


@final
class LastingPool(ThreadPoolExecutor):
    """A pool with one daemon thread that takes the jobs that the interpreter's end would refuse. It
    is a subclass because event loops accept no other kind of executor."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="gantrymq-io")
        self._is_shut = False
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="gantrymq-last", daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            if self._is_shut:
                raise
        future: Future[T] = Future()
        self._jobs.put(partial(_carry_out, future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._is_shut = True
        self._jobs.put(None)
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _carry_out(future: Future[T], job: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = job()
    except BaseException as error:  # as thread pools do: the future raises it
        future.set_exception(error)
    else:
        future.set_result(result)
