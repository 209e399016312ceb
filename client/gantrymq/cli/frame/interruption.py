"""Ends a command that goes on and on from outside, as cleanly as it ends by itself.

Ctrl-C                                130; a second one ends it at once
SIGTERM                               143
the reader of its output is gone      0: the reader has seen enough

asyncio's own handler of Ctrl-C cancels the task between any two instructions, in the middle of a
callback too, and the loop then reports an invalid state. These handlers are callbacks of the loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from types import TracebackType
from typing import Self, final

from gantrymq.cli.frame.failures import DONE, INTERRUPTED, TERMINATED
from gantrymq.cli.frame.line_output import STDOUT


@final
class Interruption:
    """`with` it, on the loop: the task that entered is cancelled."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """Once it was ended."""
        self._loop = asyncio.get_running_loop()
        self._is_watched = _is_pipe()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "it is entered on the loop"

        def end(exit_code: int) -> None:
            self._unwatch()
            if self.exit_code is None:
                self.exit_code = exit_code
                task.cancel()

        def interrupt() -> None:
            self._loop.remove_signal_handler(signal.SIGINT)  # the next one raises KeyboardInterrupt
            end(INTERRUPTED)

        # What is started to ignore Ctrl-C, as in the background of a shell, goes on ignoring it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._loop.add_signal_handler(signal.SIGINT, interrupt)
        self._loop.add_signal_handler(signal.SIGTERM, end, TERMINATED)
        if self._is_watched:
            # Of a pipe that is written, only its end can be told.
            self._loop.add_reader(STDOUT, end, DONE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.remove_signal_handler(signal.SIGINT)
        self._loop.remove_signal_handler(signal.SIGTERM)
        self._unwatch()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(STDOUT)


def _is_pipe() -> bool:
    return stat.S_ISFIFO(os.fstat(STDOUT).st_mode)
