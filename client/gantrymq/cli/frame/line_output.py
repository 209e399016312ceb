"""Writes the output of stream commands in a thread, so that a slow reader blocks no event loop."""

from __future__ import annotations

import os
from typing import Final, Protocol, final

from gantrymq.cli.frame.side_thread import SideThread

STDOUT: Final = 1


class LineOutput(Protocol):
    """Where a stream command writes its lines."""

    async def write(self, content: bytes) -> None:
        """Return once all is written. Raises BrokenPipeError if the reader has closed the pipe."""


@final
class DescriptorOutput:
    """Writes to a file descriptor. It bypasses the buffer of sys.stdout, because a thread that
    blocks in a write would hold that buffer's lock when the process ends."""

    def __init__(self, descriptor: int = STDOUT) -> None:
        self._descriptor = descriptor
        self._thread = SideThread("gantry-output")

    async def write(self, content: bytes) -> None:
        await self._thread.call(lambda: self._write(content))

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._descriptor, left) :]
