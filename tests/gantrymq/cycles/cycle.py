"""Runs one fault: from the strike until the group and its clients work again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, final

from gantrymq.cycles.clients.load import RATE_MIN
from gantrymq.cycles.clients.told import Told
from gantrymq.cycles.gaps import longest_seconds, rate_before
from gantrymq.cycles.group import CycleGroup
from gantrymq.cycles.hosts.faults import FAULTS
from gantrymq.cycles.outcome import Cycle
from gantrymq.cycles.plan import Step

CALM_SECONDS: Final = 1.5
"""Before a strike; all clients work."""
RATE_SECONDS: Final = 20.0
WELL_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.02
TAKE_SECONDS: Final = 0.2


@final
class HolderWatch:
    """Watches the lease until another member holds it than in the beginning."""

    def __init__(self, group: CycleGroup) -> None:
        self.moved_at: float | None = None
        self._group = group
        self._is_over = threading.Event()
        self._old = group.holder
        self._thread = threading.Thread(target=self._look, daemon=True, name="holder")
        self._thread.start()

    def _look(self) -> None:
        while not self._is_over.wait(POLL_SECONDS):
            if self._group.holder not in (0, self._old):
                self.moved_at = time.monotonic()
                return

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


def carry_out(step: Step, group: CycleGroup, told: Told) -> Cycle:
    """Raises TimeoutError with the reports of all when the group does not recover."""
    wait_until_at_work(group, told)
    _wait_for_rate(told)
    told.forget()
    watch = HolderWatch(group)
    began, began_ns = time.monotonic(), time.monotonic_ns()
    with FAULTS[step.kind].act(group):
        _follow(told, step.hold_seconds)
    wait_until_at_work(group, told)
    well = time.monotonic() - began
    watch.stop()
    _follow(told, CALM_SECONDS)
    ended_ns = max(max(times) for times in told.times_ns.values())
    acknowledged = told.acknowledgements()
    return Cycle(
        step.number,
        step.kind.name,
        step.hold_seconds,
        rate_before(acknowledged, began_ns),
        None if watch.moved_at is None else watch.moved_at - began,
        longest_seconds(acknowledged, began_ns, ended_ns),
        {name: longest_seconds(times, began_ns, ended_ns) for name, times in told.times_ns.items()},
        dict(told.failed),
        dict(told.other),
        well,
    )


def wait_until_at_work(group: CycleGroup, told: Told) -> None:
    """All members are in sync, and every stream goes on."""

    def is_at_work() -> bool:
        told.take()
        return group.is_well and not told.silent

    _wait(is_at_work, group, told)


def _wait_for_rate(told: Told) -> None:
    """Or for so long: what else this machine does may not let it."""
    end = time.monotonic() + RATE_SECONDS
    while True:
        _follow(told, CALM_SECONDS)
        rate = rate_before(told.acknowledgements(), time.monotonic_ns())
        if rate >= RATE_MIN or time.monotonic() > end:
            return


def _wait(condition: Callable[[], bool], group: CycleGroup, told: Told) -> None:
    end = time.monotonic() + WELL_SECONDS
    while not condition():
        if time.monotonic() > end:
            silent = f"not well after {WELL_SECONDS:g} s; silent: {told.silent}"
            raise TimeoutError(f"{silent}\n{group.report()}")
        time.sleep(TAKE_SECONDS)


def _follow(told: Told, seconds: float) -> None:
    """Let it run for so long."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(TAKE_SECONDS, left))
        told.take()
