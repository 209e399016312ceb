"""Shows the warnings of the client library on standard error, without repeating them.

The client tries a broker that is down every second; the same warning is shown every 30 seconds.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final, TextIO, final

_AGAIN_S: Final = 30.0
# Parts that differ between warnings of one cause: the queue, and the time until the next attempt.
_VARIABLE_PART: Final = re.compile(r"queue_id=\d+|in [\d.]+ s\b")
# The number of texts that are remembered: more than a command with hundreds of queues logs.
_TEXTS_MAX: Final = 1_000


@final
class Notices(logging.Handler):
    """A logging handler that is active between `begin` and `end`."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream
        self._clock = clock
        self._shown_at: dict[str, float] = {}
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
        key = _VARIABLE_PART.sub("", text)
        if now - self._shown_at.get(key, -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._shown_at) >= _TEXTS_MAX:
            self._shown_at.clear()
        self._shown_at[key] = now
        self._stream.write(f"gantry: {text}\n")
