"""Runs a program as a process: event loop, signals, background tasks, exit codes.

    0  it ended, by itself or by SIGTERM, SIGINT or SIGHUP
    70 a bug: the program or one of its tasks raised an unexpected exception
    75 it did not stop in time
    78 a setting cannot be used; the text on standard error says which

The first signal asks for a graceful stop, the second ends the process at once.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from enum import IntEnum
from typing import Final, NoReturn, final

import uvloop

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime import speedups
from gantrymq.runtime.logs import Log
from gantrymq.runtime.storage import descriptors

# Together with twice TASK_SECONDS, and the 4 s in which a guard hands over a Lease, this is within
# the 30 s after which Kubernetes kills a pod by default.
STOP_SECONDS: Final = 20.0
TASK_SECONDS: Final = 2.0  # for a cancelled task to clean up

# More than most loop iterations need at once; up to twice as much may stay free in a heap.
LARGE_BLOCK_BYTES: Final = 4 << 20

Program = Callable[["Process"], Awaitable[None]]


class ExitCode(IntEnum):
    """As in sysexits.h, so that supervisors can tell a configuration error from a bug."""

    OK = 0
    BUG = 70
    STUCK = 75
    CONFIGURATION = 78


@final
class Process:
    """What a program gets from its process: the request to stop, and an owner for its tasks."""

    __slots__ = ("_failure", "_log", "_stop", "_tasks")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    @property
    def failure(self) -> BaseException | None:
        """The exception of the first task that failed."""
        return self._failure

    async def stop_requested(self) -> None:
        """Wait until the program should stop gracefully; the program returns then."""
        await self._stop.wait()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def stop(self, cause: str) -> None:
        if not self._stop.is_set():
            self._log.info("stopping", cause=cause)
            self._stop.set()

    def own(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Run `work` in the background until it ends or the process stops.

        If it raises, the process stops: a restart is better than a program that runs in part.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def cancel_tasks(self) -> None:
        """Cancel the running tasks; logs those that do not end within TASK_SECONDS."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, stuck = await asyncio.wait(self._tasks, timeout=TASK_SECONDS)
            for task in stuck:
                self._log.error("a task does not end", task=task.get_name())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            self._failure = self._failure or failure
            self._log.error("a task failed", cause=failure, task=task.get_name())
            self.stop(f"task {task.get_name()} failed")


def run(program: Program, *, stop_seconds: float = STOP_SECONDS) -> int:
    """Run `program` on uvloop until it returns or is stopped; returns the exit code."""
    log = Log("process")
    speedups.report(log)
    descriptors.raise_limit()
    descriptors.RESERVE.fill()
    _keep_freed_memory()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            code = runner.run(_live(program, log, stop_seconds))
        except ConfigurationError as error:
            sys.stderr.write(f"gantry: {error}\n")
            return ExitCode.CONFIGURATION
        if code == ExitCode.STUCK:
            _end_at_once()
        return code


def _end_at_once() -> NoReturn:
    """Exit without the interpreter's shutdown, which waits for threads that may hang in a disk."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(ExitCode.STUCK)


async def _live(program: Program, log: Log, stop_seconds: float) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: _log_stray(log, context))
    process = Process(log)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            loop.add_signal_handler(number, _signalled, process, number)
    # Imported objects live as long as the process: the garbage collector need not visit them.
    gc.freeze()
    running = asyncio.ensure_future(program(process))
    running.add_done_callback(lambda _: process.stop("the program ended"))
    try:
        await process.stop_requested()
        done, _ = await asyncio.wait([running], timeout=stop_seconds)
        if not done:
            log.error("not stopped in time, giving up", after=f"{stop_seconds:g}s")
            running.cancel()
            await asyncio.wait([running], timeout=TASK_SECONDS)
            return ExitCode.STUCK
    finally:
        await process.cancel_tasks()
    return _exit_code(running, process, log)


def _exit_code(running: asyncio.Future[None], process: Process, log: Log) -> int:
    failure = running.exception()
    if isinstance(failure, ConfigurationError):
        raise failure
    if failure is not None:
        log.error("the program failed", cause=failure)
    return ExitCode.BUG if failure is not None or process.failure is not None else ExitCode.OK


def _signalled(process: Process, number: signal.Signals) -> None:
    if process.is_stopping:
        os._exit(128 + number)
    process.stop(number.name)


def _log_stray(log: Log, context: dict[str, object]) -> None:
    """Log an exception in a callback of the loop: a bug that need not end the process."""
    cause = context.get("exception")
    log.error(
        "exception in the event loop",
        cause=cause if isinstance(cause, BaseException) else None,
        message=context.get("message"),
    )


def _keep_freed_memory() -> None:
    """Make glibc keep memory that one loop iteration frees for the next one.

    glibc returns free memory at the end of a heap to the system, beyond 128 KiB at first, and the
    next large read gets it anew, page by page: a tenth of a slave's CPU time with large bodies.
    glibc derives how much it keeps from the largest block that was freed: after this block 8 MiB
    for each thread. A limit set by the operator (MALLOC_TRIM_THRESHOLD_) stays in force, and other
    allocators are not affected.
    """
    bytes(LARGE_BLOCK_BYTES)
