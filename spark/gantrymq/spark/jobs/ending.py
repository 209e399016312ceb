"""Ends a job on SIGTERM or Ctrl-C.

A job over a bounded range is aborted at once. A stream ends after the current micro-batch; a second
signal aborts it.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Final, Self, final

from gantrymq.spark.jobs.failures import INTERRUPTED, TERMINATED, JobEndedError

_EXIT_CODES: Final = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


@final
class Ending:
    """A context manager that handles the signals. Use it in the main thread, after the session was
    created, because Spark sets its own handler."""

    def __init__(self, *, is_stream: bool) -> None:
        self.exit_code: int | None = None
        """None until a signal has asked the job to end."""
        self._is_stream = is_stream
        # The previous handler; None if Python did not set it.
        self._before = {number: signal.getsignal(number) for number in _EXIT_CODES}

    def __enter__(self) -> Self:
        for number in _EXIT_CODES:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._asked)
        return self

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        is_second = self.exit_code is not None
        self.exit_code = _EXIT_CODES[signal.Signals(number)]
        if is_second or not self._is_stream:
            raise JobEndedError(self.exit_code)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
