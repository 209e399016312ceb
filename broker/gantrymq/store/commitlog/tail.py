"""Keeps the most recent bytes of the log in memory, so that reading them never waits for a disk.

    a ring of pages     the byte at position p of the log lies at p modulo the ring's size

Invariant: it returns only bytes that were added, at their position. It keeps at most the last
`limit` bytes, and with a limit of 0 none. What a file of the log leaves unwritten at its end reads
as zeros, as it does from the disk. A page is allocated with its first byte, so that a broker with
little traffic stays small.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Consumers that keep up read what was written within the last second or two.
TAIL_BYTES: Final = 16 << 20

# The writes of a group, and the reads of a pull, mostly lie in one page.
PAGE_BYTES: Final = 1 << 20


@final
class Tail:
    """The bytes from `start` to `end` of one log."""

    __slots__ = ("_limit", "_page_bytes", "_pages", "end", "start")

    def __init__(self, limit: int = TAIL_BYTES, page_bytes: int = PAGE_BYTES) -> None:
        self._limit: i64 = limit
        self._page_bytes: i64 = page_bytes
        self._pages: list[memoryview | None] = [None] * -(-limit // page_bytes)
        self.start: i64 = 0
        self.end: i64 = 0

    def add(self, position: i64, data: bytes) -> None:
        """Add the next bytes. A gap since the last ones is filled with zeros."""
        limit = self._limit
        if self.start == self.end:
            self.start = self.end = position
        assert position >= self.end, "a log grows at its end only"
        if position > self.end:
            self._put(bytes(min(position - self.end, limit)), position)
        self._put(data[-limit:] if len(data) > limit else data, position + len(data))

    def clear(self) -> None:
        self.start = self.end = 0

    def read(self, position: i64, size: i64) -> bytes | None:
        """These bytes, or None if any of them is not here."""
        if position < self.start or position + size > self.end:
            return None
        room = self._room(position)
        if size <= room:
            return self._piece(position, size)
        pieces: list[bytes] = []
        while size > room:
            pieces.append(self._piece(position, room))
            position += room
            size -= room
            room = self._room(position)
        pieces.append(self._piece(position, size))
        return b"".join(pieces)

    def _put(self, data: bytes, end: i64) -> None:
        """Store the bytes that end at `end`. They must fit into the ring."""
        if self._limit:
            position: i64 = end - len(data)
            room = self._room(position)
            while len(data) > room:
                self._put_piece(data[:room], position)
                position += room
                data = data[room:]
                room = self._room(position)
            self._put_piece(data, position)
        self.end = end
        self.start = max(self.start, end - self._limit)

    def _room(self, position: i64) -> i64:
        """How many bytes from this position on lie in one page."""
        at = position % self._limit
        return min(self._page_bytes - at % self._page_bytes, self._limit - at)

    def _piece(self, position: i64, size: i64) -> bytes:
        at = position % self._limit
        page = self._pages[at // self._page_bytes]
        assert page is not None, "what was added has its page"
        at %= self._page_bytes
        return bytes(page[at : at + size])

    def _put_piece(self, data: bytes, position: i64) -> None:
        at = position % self._limit
        number = at // self._page_bytes
        page = self._pages[number]
        if page is None:
            page = self._pages[number] = memoryview(bytearray(self._page_bytes))
        at %= self._page_bytes
        page[at : at + len(data)] = data
