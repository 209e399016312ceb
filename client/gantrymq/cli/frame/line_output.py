"""Standard output for what goes on and on: whoever reads slowly is waited for, beside the loop."""

from __future__ import annotations

import os
from typing import Final, Protocol, final

from gantrymq.cli.frame.side_thread import SideThread

STDOUT: Final = 1


class LineOutput(Protocol):
    """Where lines go."""

    async def write(self, content: bytes) -> None:
        """Until it is written; raises BrokenPipeError when nobody reads any more."""


@final
class DescriptorOutput:
    """Past Python's own buffer, whose lock a thread that waits for ever would keep."""

    def __init__(self, descriptor: int = STDOUT) -> None:
        self._descriptor = descriptor
        self._thread = SideThread("gantry-output")

    async def write(self, content: bytes) -> None:
        await self._thread.call(lambda: self._write(content))

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._descriptor, left) :]
