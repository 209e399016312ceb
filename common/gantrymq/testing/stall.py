"""Warns when a test seems to wait for virtual time that no code advances.

Such a test would hang without a message. Invariant: this only warns, and only once, since a test
may also wait for the real world.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, final

log: Final = logging.getLogger("gantrymq.testing")

# Real seconds. Work in virtual time takes a fraction of one.
STALL_SECONDS: Final = 5.0

_ADVICE: Final = (
    "virtual time has stood still at %g s for %g real seconds while a client waits for it: move"
    " it with `await broker.advance(...)`, or `await broker.run(...)` around the call that waits"
)


@final
class Stall:
    """The watch of one embedded broker, which calls `watch` whenever a client begins to wait."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self) -> None:
        """Check this event loop once, after a while."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            loop.call_later(STALL_SECONDS, self._look, self._now())

    def _look(self, then: float) -> None:
        now = self._now()
        if now == then:
            log.warning(_ADVICE, now, STALL_SECONDS)
        else:
            asyncio.get_running_loop().call_later(STALL_SECONDS, self._look, now)
