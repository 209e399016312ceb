"""Decides whether the operator is alive and ready.

    alive   every reflector heard something within 90 s, no key is more than 120 s late
    ready   it leads, or stands by and can read the Lease

The event loop's own lag is part of the HTTP endpoint: a loop that does not answer a check within
5 s is stalled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

SILENCE_SECONDS_MAX: Final = 90.0
LATENESS_SECONDS_MAX: Final = 120.0


class Listener(Protocol):
    """A reflector, as far as a probe looks at it."""

    @property
    def title(self) -> str: ...

    last_heard: float


def silent_reflectors(reflectors: Iterable[Listener], now: float) -> str | None:
    """Which reflectors the API has not talked to for too long; None where all are fine."""
    silent = [
        f"{each.title} for {now - each.last_heard:.0f} s"
        for each in reflectors
        if now - each.last_heard > SILENCE_SECONDS_MAX
    ]
    return f"no event and no bookmark: {', '.join(silent)}" if silent else None


def late_keys(lateness: float) -> str | None:
    """Whether work waits for too long; None where it does not."""
    if lateness <= LATENESS_SECONDS_MAX:
        return None
    return f"the oldest due key has waited for {lateness:.0f} s: every worker is busy or stuck"


def cannot_lead(*, is_leader: bool, last_error: str) -> str | None:
    """Why neither leading nor standing by works; None where either does."""
    if is_leader or not last_error:
        return None
    return f"cannot use the leader Lease: {last_error}"
