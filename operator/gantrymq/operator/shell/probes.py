"""Decides whether the operator is alive and ready.

    alive   every reflector received data within 90 s, and no key is more than 120 s late
    ready   it leads, or stands by and can read the Lease

The HTTP endpoint also checks the event loop: a loop that does not answer within 5 s is stalled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

SILENCE_SECONDS_MAX: Final = 90.0
LATENESS_SECONDS_MAX: Final = 120.0


class Listener(Protocol):
    """The attributes of a reflector that a probe reads."""

    @property
    def title(self) -> str: ...

    last_heard: float


def silent_reflectors(reflectors: Iterable[Listener], now: float) -> str | None:
    """Return which reflectors received no data for too long; None if all did."""
    silent = [
        f"{each.title} for {now - each.last_heard:.0f} s"
        for each in reflectors
        if now - each.last_heard > SILENCE_SECONDS_MAX
    ]
    return f"no event and no bookmark: {', '.join(silent)}" if silent else None


def late_keys(lateness: float) -> str | None:
    """Return why work waits for too long; None if it does not."""
    if lateness <= LATENESS_SECONDS_MAX:
        return None
    return f"the oldest due key has waited for {lateness:.0f} s: every worker is busy or stuck"


def cannot_lead(*, is_leader: bool, last_error: str) -> str | None:
    """Return why the process can neither lead nor stand by; None if it can."""
    if is_leader or not last_error:
        return None
    return f"cannot use the leader Lease: {last_error}"
