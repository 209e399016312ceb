"""The records of one loop turn, laid out from the end of the log on, before anything is written.

    run       one write into one file: records behind each other, and a blank one at the file's end

A message goes to the next file when less than its size and a blank record's 8 bytes are left;
a batch goes there as one. Only the blank's 8 bytes are written of what is left then.

Invariant: each record carries its own position and one store timestamp for all of them, which is
never lower than one handed out before. The layout is a pure function of the log's end, the
segments' size and the messages: a compiled kernel that turns frames into records does the same
with its own loop, and hands the log the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.base.errors import LocalError
from gantrymq.wire.message.record import BLANK_BYTES, Record, encode, encode_blank


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Bytes for one file."""

    position: int
    data: bytes


@final
class Arena:
    """Filled by `add`, written whole or not at all by the log that made it."""

    __slots__ = (
        "_file_bytes",
        "_file_end",
        "_pieces",
        "_run_start",
        "_runs",
        "end",
        "last_record",
        "start",
        "store_timestamp_ms",
    )

    def __init__(self, start: int, file_bytes: int, store_timestamp_ms: int) -> None:
        self._file_bytes = file_bytes
        self._file_end = start - start % file_bytes + file_bytes
        self._pieces: list[bytes] = []
        self._run_start = start
        self._runs: list[Run] = []
        self.start = start
        self.end = start
        self.last_record = start
        self.store_timestamp_ms = store_timestamp_ms

    def add(self, message: Record) -> None:
        """Place one message: its position and timestamp are set, and it must not change again."""
        if self.end + message.size + BLANK_BYTES > self._file_end:
            self._next_file(message.size)
        self._put(message)

    def add_batch(self, messages: Sequence[Record]) -> None:
        """Place messages that stay in one file."""
        size = sum([message.size for message in messages])
        if self.end + size + BLANK_BYTES > self._file_end:
            self._next_file(size)
        for message in messages:
            self._put(message)

    def runs(self) -> Sequence[Run]:
        """What is to be written, in this order."""
        self._close_run()
        return self._runs

    def _put(self, message: Record) -> None:
        message.physical_offset = self.end
        message.store_timestamp_ms = self.store_timestamp_ms
        data = encode(message)
        self._pieces.append(data)
        self.last_record = self.end
        self.end += len(data)

    def _next_file(self, size: int) -> None:
        if size + BLANK_BYTES > self._file_bytes:
            raise LocalError(f"{size} bytes never fit into a file of {self._file_bytes}")
        self._pieces.append(encode_blank(self._file_end - self.end))
        self._close_run()
        self._run_start = self.end = self._file_end
        self._file_end += self._file_bytes

    def _close_run(self) -> None:
        if self._pieces:
            data = b"".join(self._pieces)
            self._runs.append(Run(self._run_start, data))
            self._run_start += len(data)
            self._pieces = []
