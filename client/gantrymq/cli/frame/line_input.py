"""Reads lines of standard input or of a file in batches, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Final, Protocol, final

from gantrymq.cli.frame.failures import CommandError
from gantrymq.cli.frame.option import BODY_BYTES_MAX
from gantrymq.cli.frame.side_thread import SideThread

STDIN: Final = 0
_CHUNK_BYTES: Final = 256 << 10


class LineSource(Protocol):
    """Where a stream command reads its lines."""

    def batches(self) -> AsyncIterator[list[bytes]]:
        """Yield the lines that have arrived, without line ends. Raises CommandError, OSError."""

    def whole(self) -> AsyncIterator[list[bytes]]:
        """Yield the whole input as if it were one line. Raises CommandError, OSError."""


@final
class LineInput:
    """Reads lines of a file descriptor, which it does not close."""

    def __init__(self, descriptor: int = STDIN) -> None:
        self._descriptor = descriptor
        self._thread = SideThread("gantry-input")

    async def batches(self) -> AsyncIterator[list[bytes]]:
        rest = b""
        while chunk := await self._chunk():
            *lines, rest = (rest + chunk).split(b"\n")
            _must_fit(rest)
            if lines:
                yield lines
        if rest:
            yield [rest]

    async def whole(self) -> AsyncIterator[list[bytes]]:
        content = bytearray()
        while chunk := await self._chunk():
            content += chunk
            _must_fit(content)
        yield [bytes(content)]

    async def _chunk(self) -> bytes:
        """Return the bytes that have arrived; b"" at the end of the input."""
        return await self._thread.call(lambda: os.read(self._descriptor, _CHUNK_BYTES))


def _must_fit(line: bytes | bytearray) -> None:
    if len(line) > BODY_BYTES_MAX:
        raise CommandError(
            f"the input has a message of more than {BODY_BYTES_MAX} bytes, which brokers refuse by"
            " default; each line is a message, or with --whole the whole input"
        )
