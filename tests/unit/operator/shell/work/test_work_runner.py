"""Tests how jobs end, fail, time out and back off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.kube.errors import ConflictError, ThrottledError, UnavailableError
from gantrymq.operator.shell.work.work_queue import Key, QueueLane, WorkQueue
from gantrymq.operator.shell.work.work_runner import CONFLICTS_BEFORE_WARNING, Job, WorkRunner


@asynccontextmanager
async def running(job: Job, job_seconds: float = 60) -> AsyncIterator[WorkRunner]:
    runner = WorkRunner(
        WorkQueue(random.Random(1)),
        {"clusters": (QueueLane.URGENT, job)},
        {QueueLane.URGENT: job_seconds},
    )
    task = asyncio.create_task(runner.run())
    yield runner
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_job_that_asks_for_it_runs_again() -> None:
    runs: list[Key] = []

    async def job(key: Key) -> float | None:
        runs.append(key)
        return 0.01 if len(runs) < 3 else None

    async with running(job) as runner:
        runner.put(("clusters", "one", "a"))
        await until(lambda: len(runs) == 3)

        await until(lambda: runner.counters.outcomes[("clusters", "done")] == 3)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConflictError("stale"), "conflict"),
        (UnavailableError("out"), "refused"),
        (ThrottledError("slow down", 0.1), "refused"),
        (ZeroDivisionError("bug"), "bug"),
    ],
)
async def test_a_job_that_fails_is_tried_again(error: Exception, outcome: str) -> None:
    runs = 0

    async def job(key: Key) -> float | None:
        nonlocal runs
        del key
        runs += 1
        if runs == 1:
            raise error
        return None

    async with running(job) as runner:
        runner.put(("clusters", "one", "a"))
        await until(lambda: runner.counters.outcomes[("clusters", "done")] == 1)

        assert runner.counters.outcomes[("clusters", outcome)] == 1


async def test_conflicts_in_a_row_become_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    runs = 0

    async def job(key: Key) -> float | None:
        nonlocal runs
        del key
        runs += 1
        if runs <= CONFLICTS_BEFORE_WARNING:
            raise ConflictError("another version")
        return None

    async with running(job) as runner:
        runner.put(("clusters", "one", "a"))
        await until(lambda: runner.counters.outcomes[("clusters", "done")] == 1)

    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert "write conflict" in warning
    assert f"in_a_row={CONFLICTS_BEFORE_WARNING}" in warning
    assert "another version" in warning


async def test_a_job_that_hangs_is_cancelled_and_tried_again() -> None:
    runs = 0

    async def job(key: Key) -> float | None:
        nonlocal runs
        del key
        runs += 1
        if runs == 1:
            await asyncio.Event().wait()
        return None

    async with running(job, job_seconds=0.05) as runner:
        runner.put(("clusters", "one", "a"))
        await until(lambda: runner.counters.outcomes[("clusters", "done")] == 1)

        assert runner.counters.outcomes[("clusters", "timeout")] == 1


async def test_jobs_that_hang_do_not_delay_others() -> None:
    done: list[str] = []

    async def job(key: Key) -> float | None:
        if key[2] == "stuck":
            await asyncio.Event().wait()
        done.append(key[2])
        return None

    async with running(job) as runner:
        runner.put(("clusters", "one", "stuck"))
        for number in range(50):
            runner.put(("clusters", "one", f"c{number}"))

        await until(lambda: len(done) == 50)
        assert "stuck" not in done


async def test_jobs_end_with_the_runner() -> None:
    cancelled: list[str] = []
    began = asyncio.Event()

    async def job(key: Key) -> float | None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(key[2])
            raise
        return None

    async with running(job) as runner:
        runner.put(("clusters", "one", "a"))
        await began.wait()

    assert cancelled == ["a"]
