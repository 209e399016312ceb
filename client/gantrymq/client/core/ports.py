"""Defines what the core needs from its environment: time, randomness, ids and a flow runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gantrymq.client.core.flow.flow_steps import Flow


class Clock(Protocol):
    """Clock of the client: `monotonic` in seconds for deadlines, `wall_ms` for stored or sent
    times."""

    def monotonic(self) -> float: ...

    def wall_ms(self) -> int: ...


class Running(Protocol):
    """A started flow."""

    def cancel(self) -> object:
        """Cancel the flow where it waits; only its `finally` clauses still run."""


class Start(Protocol):
    """Runs a flow concurrently with the caller's. An exception ends only that flow and is
    logged."""

    def __call__(self, flow: Flow[None], name: str) -> Running: ...


class Log(Protocol):
    """Logs a line for operators: failures that are retried, and changes. `error` is given if user
    code raised it, so that the log has its traceback."""

    def __call__(self, line: str, error: Exception | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """The environment of one client."""

    clock: Clock
    start: Start
    chance: Callable[[int], int]
    """Return a random number from 0 to below the argument."""
    new_id: Callable[[], str]
    """Return a new unique message id: UNIQ_KEY."""
    new_ids: Callable[[int], list[str]]
    """Return that many new ids, at most 65536."""
    log: Log
