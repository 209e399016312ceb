"""Lays out the records of one turn behind the end of the log, before anything is written.

    run       one write into one file: consecutive records, and a blank one at the file's end

A message goes to the next file when less than its size and a blank record's 8 bytes are left. A
batch goes there as a whole. Of the rest of the old file only the blank's 8 bytes are written.

Invariant: each record carries its own position, and all carry the same store time, which is never
lower than an earlier one. The layout is a pure function of the log's end, the segments' size and
the messages. kernel.py, which turns frames into records, asks for `room` and writes the records
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from librt.strings import BytesWriter
from mypy_extensions import i64

from gantrymq.base.errors import LocalError
from gantrymq.wire.message.record import Record, encode
from gantrymq.wire.message.record_scan import BLANK_BYTES, encode_blank


@final
class Run:
    """The bytes of one write. Created on the hot path, hence slotted, not a frozen dataclass."""

    __slots__ = ("data", "position")

    def __init__(self, position: int, data: bytes) -> None:
        self.position: int = position
        self.data: bytes = data


@final
class Arena:
    """The records of one turn. The log that created it writes all of them or none."""

    __slots__ = (
        "_file_bytes",
        "_file_end",
        "_run_start",
        "_runs",
        "end",
        "last_record",
        "start",
        "store_timestamp_ms",
        "writer",
    )

    def __init__(self, start: int, file_bytes: int, store_timestamp_ms: int) -> None:
        self._file_bytes: i64 = file_bytes
        self._file_end: i64 = start - start % file_bytes + file_bytes
        self._run_start: i64 = start
        self._runs: list[Run] = []
        self.start: i64 = start
        self.end: i64 = start
        self.last_record: i64 = start
        self.store_timestamp_ms: i64 = store_timestamp_ms
        self.writer: BytesWriter = BytesWriter()

    def add(self, message: Record) -> None:
        """Place one message: set its position and store time. The message must not change
        afterwards."""
        self.room(message.size)
        self._put(message)

    def add_batch(self, messages: Sequence[Record]) -> None:
        """Place messages that must be in one file."""
        self.room(sum([message.size for message in messages]))
        for message in messages:
            self._put(message)

    def room(self, size: i64) -> i64:
        """Make room for `size` bytes in one file, and return their position.

        The caller then writes records of this total size into `writer`, and calls `took` for each.
        """
        if self.end + size + BLANK_BYTES > self._file_end:
            self._next_file(size)
        return self.end

    def took(self, size: i64) -> None:
        """Note that a record of `size` bytes was written into `writer`."""
        self.last_record = self.end
        self.end += size

    def runs(self) -> Sequence[Run]:
        """The writes to be done, in this order."""
        self._close_run()
        return self._runs

    def _put(self, message: Record) -> None:
        message.physical_offset = int(self.end)
        message.store_timestamp_ms = int(self.store_timestamp_ms)
        data = encode(message)
        self.writer.write(data)
        self.took(len(data))

    def _next_file(self, size: i64) -> None:
        if size + BLANK_BYTES > self._file_bytes:
            raise LocalError(f"{size} bytes never fit into a file of {self._file_bytes}")
        self.writer.write(encode_blank(int(self._file_end - self.end)))
        self._close_run()
        self._run_start = self.end = self._file_end
        self._file_end += self._file_bytes

    def _close_run(self) -> None:
        if len(self.writer) > 0:
            data = self.writer.getvalue()
            self._runs.append(Run(int(self._run_start), data))
            self._run_start += len(data)
            self.writer = BytesWriter()
