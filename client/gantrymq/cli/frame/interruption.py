"""Ends a long-running command cleanly on Ctrl-C, SIGTERM, or when its output pipe closes.

Ctrl-C                     exit code 130; a second Ctrl-C ends the process at once
SIGTERM                    exit code 143
the output pipe closes     exit code 0: its reader has what it wants

asyncio's own handler of Ctrl-C cancels the task between any two instructions, even within a
callback, and the loop then reports an invalid state. These handlers are callbacks of the loop.
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
    """A context manager that cancels the task which entered it. Use it on the event loop."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """None until something has ended the command."""
        self._loop = asyncio.get_running_loop()
        self._is_watched = _is_pipe()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "a task of the event loop enters it"

        def end(exit_code: int) -> None:
            self._unwatch()
            if self.exit_code is None:
                self.exit_code = exit_code
                task.cancel()

        def interrupt() -> None:
            self._loop.remove_signal_handler(signal.SIGINT)  # the next one raises KeyboardInterrupt
            end(INTERRUPTED)

        # A process that was started to ignore Ctrl-C, as a shell does in the background, keeps
        # ignoring it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._loop.add_signal_handler(signal.SIGINT, interrupt)
        self._loop.add_signal_handler(signal.SIGTERM, end, TERMINATED)
        if self._is_watched:
            # The write end of a pipe becomes readable only when its reader closes it.
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
