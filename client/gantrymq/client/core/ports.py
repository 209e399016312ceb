"""What the core needs of the world: time, chance, and somebody who runs flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gantrymq.client.core.steps import Flow


class Clock(Protocol):
    """Time: `monotonic` in seconds for what is due, `wall_ms` for what is stored or sent."""

    def monotonic(self) -> float: ...

    def wall_ms(self) -> int: ...


class Running(Protocol):
    """A flow that was started."""

    def cancel(self) -> object:
        """End it where it waits: its `finally` clauses run, nothing else does."""


class Start(Protocol):
    """Runs a flow beside the caller's. What it raises is told to the log, and ends it alone."""

    def __call__(self, flow: Flow[None], name: str) -> Running: ...


class Log(Protocol):
    """A line for people: what went wrong and is tried again, what changed. With the error when it
    is the user's code that raised it: they want to see where."""

    def __call__(self, line: str, error: Exception | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """The world of one client."""

    clock: Clock
    start: Start
    chance: Callable[[int], int]
    """A number from 0 to below this one."""
    new_id: Callable[[], str]
    """An id for a message, as no other has it: UNIQ_KEY."""
    new_ids: Callable[[int], list[str]]
    """So many of them, 65536 at the most."""
    log: Log
