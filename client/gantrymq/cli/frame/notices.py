"""What clients log while a command runs: lines on standard error, and none of them again and again.

A broker that is away is tried every second; that it is away is told every half a minute.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final, TextIO, final

_AGAIN_S: Final = 30.0
# What differs though it says the same: of which queue, and how long until the next attempt.
_DIFFERENT: Final = re.compile(r"queue_id=\d+|in [\d.]+ s\b")
# Texts that are remembered: more than a command of hundreds of queues has to say.
_TEXTS_MAX: Final = 1_000


@final
class Notices(logging.Handler):
    """`begin` and `end` it."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream
        self._clock = clock
        self._told: dict[str, float] = {}
        self._logger = logging.getLogger("gantrymq")

    def begin(self) -> None:
        self._logger.addHandler(self)
        self._logger.propagate = False

    def end(self) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]}"
        now = self._clock()
        said = _DIFFERENT.sub("", text)
        if now - self._told.get(said, -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._told) >= _TEXTS_MAX:
            self._told.clear()
        self._told[said] = now
        self._stream.write(f"gantry: {text}\n")
