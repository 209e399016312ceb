"""Opens the store of a broker: recovery runs step by step, between iterations of the event loop.

The event loop runs every `TURN_SECONDS` between two steps, so that signals and the readiness probe
are served. A single step of a long truncation may still block it: liveness is answered by a thread
(health.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log
from gantrymq.runtime.pulse import Pulse
from gantrymq.store.engine import Store
from gantrymq.store.progress import Progress

TURN_SECONDS: Final = 0.1

_STAGES: Final = {
    "cut": "keeping a copy of what is cut off the log",
    "queues": "opening the queues",
    "log": "checking the log",
    "rebuild": "rebuilding queues and index from the log",
}


@final
class StoppedError(GantryError):
    """The process was told to stop before the store was open."""


async def open_store(
    store: Store, clock: Clock, pulse: Pulse, is_stopping: Callable[[], bool]
) -> float:
    """Open the store; returns the seconds it took. Raises StoppedError as soon as `is_stopping` is
    true: recovery may stop at any point, and the next start repeats it."""
    began = turned_at = clock.monotonic()
    with pulse.work("recovering the store"):
        for progress in store.open(began):
            pulse.tell(_words(progress))
            now = clock.monotonic()
            if now >= turned_at + TURN_SECONDS:
                await asyncio.sleep(0)
                turned_at = now
            if is_stopping():
                raise StoppedError("the broker was told to stop while its store recovered")
    return clock.monotonic() - began


def _words(progress: Progress) -> str:
    stage = _STAGES.get(progress.stage, progress.stage)
    unit = "" if progress.stage == "queues" else " bytes"
    return f"recovering the store, {stage}, {progress.done} of {progress.total}{unit}"


def log_opened(store: Store, root: Path, seconds: float, opening_log: Log) -> None:
    """Log what recovery found and did."""
    report = store.report
    how = "after a clean stop" if report.is_clean else "after a crash"
    opening_log.info(f"load {root}, store is open {how}", took=f"{seconds:.2f}s")
    if report.kept_tail:
        opening_log.warning(f"what was cut off the log is kept in {report.kept_tail}")
    for path in report.removed_tails:
        text = "removed to make room (keptTailsBytesMax), what was cut off the log before"
        opening_log.warning(f"{path}: {text}")
