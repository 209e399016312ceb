from __future__ import annotations

import asyncio
import time

import pytest

from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.deadline_timer import SWEEP_SECONDS, DeadlineTimer


class Member:
    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline
        self.expired = asyncio.Event()

    def deadline(self) -> float | None:
        return self._deadline

    def expire(self, now: float) -> None:
        self._deadline = None
        self.expired.set()


async def test_only_due_members_expire_and_the_timer_is_set_to_the_earliest_deadline() -> None:
    clock = VirtualClock()
    due, soon, late, idle = Member(1.0), Member(1.5), Member(99.0), Member(None)
    sweep = DeadlineTimer(lambda: [due, soon, late, idle], clock.monotonic)

    assert sweep.sweep(1.0) == 1.5
    assert [member.expired.is_set() for member in (due, soon, late, idle)] == [
        True,
        False,
        False,
        False,
    ]
    assert sweep.sweep(2.0) == 2.0 + SWEEP_SECONDS


async def test_announced_earlier_deadline_is_kept() -> None:
    member = Member(time.monotonic() + 0.005)
    sweep = DeadlineTimer(lambda: [member], time.monotonic)
    sweep.start()

    sweep.wake_by(time.monotonic() + 0.005)

    await member.expired.wait()
    sweep.stop()


async def test_each_run_calls_the_owner_and_sets_the_timer_again() -> None:
    done = asyncio.Event()
    sweep = DeadlineTimer(list, time.monotonic, lambda now: done.set())

    sweep.wake_by(time.monotonic())
    await done.wait()
    await asyncio.sleep(0)

    assert sweep._timer is not None
    sweep.stop()


class Broken:
    def deadline(self) -> float | None:
        return 0.0

    def expire(self, now: float) -> None:
        raise ZeroDivisionError


class BrokenDeadline(Broken):
    def deadline(self) -> float | None:
        raise ZeroDivisionError


@pytest.fixture
async def said() -> list[object]:
    """The exceptions that the loop reported."""
    told: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    return told


async def test_member_that_raises_does_not_keep_others_from_expiring(said: list[object]) -> None:
    member = Member(1.0)
    sweep = DeadlineTimer(lambda: [Broken(), member], VirtualClock().monotonic)

    assert sweep.sweep(2.0) == 2.0 + SWEEP_SECONDS

    assert member.expired.is_set()
    assert [type(error) for error in said] == [ZeroDivisionError]


async def test_timer_is_set_again_after_any_error(said: list[object]) -> None:
    clock = VirtualClock()
    sweep = DeadlineTimer(lambda: [BrokenDeadline()], clock.monotonic)
    sweep.wake_by(0.0)

    while not said:  # noqa: ASYNC110  # what is awaited has no event, on purpose
        await asyncio.sleep(0)

    assert sweep._timer is not None
    assert not sweep._timer.cancelled()
    sweep.stop()


async def test_stopped_timer_stays_stopped() -> None:
    member = Member(0.0)
    sweep = DeadlineTimer(lambda: [member], time.monotonic)
    sweep.start()

    sweep.stop()
    timer = sweep._timer
    sweep.wake_by(0.0)

    assert timer is not None
    assert timer.cancelled()
    assert sweep._timer is timer
