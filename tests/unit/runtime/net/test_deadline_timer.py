"""Tests that one timer serves many deadlines, also when a member or the owner raises."""

from __future__ import annotations

import asyncio
import time

import pytest

from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.deadline_timer import INTERVAL_SECONDS, DeadlineTimer


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
    timer = DeadlineTimer(lambda: [due, soon, late, idle], clock.monotonic)

    assert timer.expire_due(1.0) == 1.5
    assert [member.expired.is_set() for member in (due, soon, late, idle)] == [
        True,
        False,
        False,
        False,
    ]
    assert timer.expire_due(2.0) == 2.0 + INTERVAL_SECONDS


async def test_announced_earlier_deadline_is_kept() -> None:
    member = Member(time.monotonic() + 0.005)
    timer = DeadlineTimer(lambda: [member], time.monotonic)
    timer.start()

    timer.wake_by(time.monotonic() + 0.005)

    await member.expired.wait()
    timer.stop()


async def test_each_run_calls_the_owner_and_sets_the_timer_again() -> None:
    done = asyncio.Event()
    timer = DeadlineTimer(list, time.monotonic, lambda now: done.set())

    timer.wake_by(time.monotonic())
    await done.wait()
    await asyncio.sleep(0)

    assert timer._timer is not None
    timer.stop()


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
    timer = DeadlineTimer(lambda: [Broken(), member], VirtualClock().monotonic)

    assert timer.expire_due(2.0) == 2.0 + INTERVAL_SECONDS

    assert member.expired.is_set()
    assert [type(error) for error in said] == [ZeroDivisionError]


async def test_timer_is_set_again_after_any_error(said: list[object]) -> None:
    clock = VirtualClock()
    timer = DeadlineTimer(lambda: [BrokenDeadline()], clock.monotonic)
    timer.wake_by(0.0)

    while not said:  # noqa: ASYNC110  # what is awaited has no event, on purpose
        await asyncio.sleep(0)

    assert timer._timer is not None
    assert not timer._timer.cancelled()
    timer.stop()


async def test_stopped_timer_stays_stopped() -> None:
    member = Member(0.0)
    timer = DeadlineTimer(lambda: [member], time.monotonic)
    timer.start()

    timer.stop()
    handle = timer._timer
    timer.wake_by(0.0)

    assert handle is not None
    assert handle.cancelled()
    assert timer._timer is handle
