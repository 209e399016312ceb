"""The most recent bytes of the log in memory, for disks that cannot read without waiting.

    a ring     the byte at position p of the log lies at p modulo the ring's size

Invariant: it answers only what was added, at that position; it holds the last `limit` bytes at
most, and with a limit of 0 nothing. What a file of the log leaves unwritten at its end reads as
zeros, as it does from the disk.
"""

from __future__ import annotations

from typing import Final, final

# Consumers that keep up read what was written within the last second or two.
TAIL_BYTES: Final = 16 << 20


@final
class Tail:
    """The bytes from `start` to `end` of the log."""

    __slots__ = ("_limit", "_ring", "end", "start")

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._ring = memoryview(bytearray(limit))
        self.start = 0
        self.end = 0

    def add(self, position: int, data: bytes) -> None:
        """The next bytes; what was skipped since the last ones is zeros."""
        limit = self._limit
        if self.start == self.end:
            self.start = self.end = position
        assert position >= self.end, "a log grows at its end only"
        if position > self.end:
            self._put(bytes(min(position - self.end, limit)), position)
        self._put(data[-limit:] if len(data) > limit else data, position + len(data))

    def clear(self) -> None:
        self.start = self.end = 0

    def read(self, position: int, size: int) -> bytes | None:
        """These bytes, None when any of them is not here."""
        if position < self.start or position + size > self.end:
            return None
        at = position % self._limit
        room = self._limit - at
        if size <= room:
            return bytes(self._ring[at : at + size])
        return bytes(self._ring[at:]) + bytes(self._ring[: size - room])

    def _put(self, data: bytes, end: int) -> None:
        """The bytes that end at `end`, not more of them than the ring holds."""
        limit = self._limit
        if limit:
            at = (end - len(data)) % limit
            room = limit - at
            if len(data) <= room:
                self._ring[at : at + len(data)] = data
            else:
                self._ring[at:] = data[:room]
                self._ring[: len(data) - room] = data[room:]
        self.end = end
        self.start = max(self.start, end - limit)
