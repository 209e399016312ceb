"""How a command that goes on and on is ended from outside, but for Ctrl-C: as cleanly as by itself.

SIGTERM                       143
nobody reads what it writes   0: whoever did has seen enough
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from types import TracebackType
from typing import Self, final

from gantrymq.cli.failures import DONE, TERMINATED
from gantrymq.cli.line_output import STDOUT


@final
class EarlyEnd:
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
        self._loop.remove_signal_handler(signal.SIGTERM)
        self._unwatch()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(STDOUT)


def _is_pipe() -> bool:
    return stat.S_ISFIFO(os.fstat(STDOUT).st_mode)
