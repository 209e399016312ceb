"""Runs the work queue on asyncio: one task for each running key, each with a time limit.

A job that returns is done, and says when its key runs again. A job that raises has failed, and its
key backs off. A job that exceeds its limit is cancelled and counts as failed, because it can only
be waiting for a server that does not answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from gantrymq.base.errors import GantryError
from gantrymq.operator.kube.errors import ConflictError, ThrottledError
from gantrymq.operator.shell.work.work_queue import Key, QueueLane, WorkQueue
from gantrymq.runtime.logs import Log

# Each request of a job has a time limit; these limits end jobs that wait for anything else.
JOB_SECONDS_MAX: Final[Mapping[QueueLane, float]] = {
    QueueLane.URGENT: 120.0,
    QueueLane.BULK: 600.0,  # 1000 topics at an API that takes a few writes a second
}
STOP_SECONDS: Final = 1.0
# One or two conflicts happen if a user and the operator write at the same time. This many in a row
# mean that another writer reverts the operator's writes.
CONFLICTS_BEFORE_WARNING: Final = 4

Job: TypeAlias = Callable[[Key], Awaitable[float | None]]
"""Runs a key; returns the seconds until the next run, or None to forget the key."""


@final
@dataclass(slots=True)
class WorkCounters:
    """The counts of finished jobs, for metrics."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind of work and outcome: done, conflict, refused, timeout, bug."""
    seconds: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))


@final
class WorkRunner:
    """Owns the queue and the tasks that run its keys."""

    def __init__(
        self,
        queue: WorkQueue,
        jobs: Mapping[str, tuple[QueueLane, Job]],
        job_seconds: Mapping[QueueLane, float] = JOB_SECONDS_MAX,
    ) -> None:
        """`jobs` has the lane and the job of each kind of work."""
        self._clock = asyncio.get_running_loop().time
        self._conflicts: Counter[Key] = Counter()
        """The number of successive conflicts of a key."""
        self._job_seconds = job_seconds
        self._jobs = jobs
        self._log = Log("operator.work")
        self._queue = queue
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self.counters = WorkCounters()

    @property
    def oldest_lateness(self) -> float:
        return self._queue.oldest_lateness(self._clock())

    def depths(self) -> Mapping[tuple[QueueLane, str], int]:
        return self._queue.depths(self._clock())

    def put(self, key: Key, delay: float = 0.0) -> None:
        """Run this key after `delay`."""
        lane, _ = self._jobs[key[0]]
        self._queue.put(key, lane, self._clock(), delay)
        self._wake.set()

    async def run(self) -> None:
        """Start jobs when they are due. Cancelling it cancels the jobs too."""
        try:
            while True:
                self._wake.clear()
                for key in self._queue.take(self._clock()):
                    task = asyncio.create_task(self._work(key), name="/".join(key))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                await self._until_due()
        finally:
            await self._stop()

    async def _until_due(self) -> None:
        due_at = self._queue.next_due()
        try:
            async with asyncio.timeout_at(due_at):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)

    async def _work(self, key: Key) -> None:
        lane, job = self._jobs[key[0]]
        began = self._clock()
        try:
            async with asyncio.timeout(self._job_seconds[lane]):
                again_after = await job(key)
            self._queue.done(key, self._clock(), again_after)
            self._conflicts.pop(key, None)
            outcome = "done"
        except asyncio.CancelledError:
            raise
        except ConflictError as error:
            outcome = "conflict"
            self._conflict(key, error)
        except (GantryError, TimeoutError) as error:
            outcome = "timeout" if isinstance(error, TimeoutError) else "refused"
            self._fail(key, error)
        except Exception as error:  # a bug in one cluster's plan must not stop the others
            outcome = "bug"
            pause = self._queue.failed(key, self._clock())
            self._log.error("reconciliation failed", cause=error, key="/".join(key), in_s=pause)
        self.counters.outcomes[(key[0], outcome)] += 1
        self.counters.seconds[(key[0], outcome)] += self._clock() - began
        self._wake.set()

    def _conflict(self, key: Key, error: ConflictError) -> None:
        pause = self._queue.failed(key, self._clock())
        self._conflicts[key] += 1
        count = self._conflicts[key]
        log = self._log.debug if count % CONFLICTS_BEFORE_WARNING else self._log.warning
        log("write conflict", key="/".join(key), cause=error, in_a_row=count, in_s=f"{pause:.1f}")

    def _fail(self, key: Key, error: Exception) -> None:
        self._conflicts.pop(key, None)
        at_least = error.retry_after_seconds if isinstance(error, ThrottledError) else 0.0
        pause = self._queue.failed(key, self._clock(), at_least)
        why = str(error) or "it exceeded its time limit"
        self._log.warning(
            "reconciliation failed", key="/".join(key), cause=why, again_in_s=f"{pause:.1f}"
        )
