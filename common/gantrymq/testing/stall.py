"""Says when a test seems to wait for virtual time that nobody lets pass.

Such a test would hang without a word. Invariant: it only says so, once; what a test waits for may
be the real world as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, final

log: Final = logging.getLogger("gantrymq.testing")

# Real seconds. What happens in virtual time takes a fraction of one.
STALL_SECONDS: Final = 5.0

_ADVICE: Final = (
    "virtual time has stood still at %g s for %g real seconds while a client waits for it: let it"
    " pass by `await broker.advance(...)`, or `await broker.run(...)` around what needs it"
)


@final
class Stall:
    """Of one broker. `watch` whenever somebody begins to wait."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self) -> None:
        """Look once, after a while, on each loop that waits."""
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
