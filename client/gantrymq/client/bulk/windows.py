"""Decides which pulls of a read are in flight at the same time.

The size of a response is limited by bytes as well as by the count, so its end is known only when it
arrives. The read estimates it: a window has as many messages as recent responses had, and several
windows are requested at once. A response that ends before its window leaves a gap, which is
requested first.

    queue      start ........ gap [a b) | window [b c) | window [c d) ........ end

With a filter the reader cannot know how many messages a window has, so it sends one pull at a time.

Invariant: the windows, the gap first, follow each other without overlap, and messages are returned
in queue order.
"""

from __future__ import annotations

from typing import Final, final

COUNT_MAX: Final = 4096
"""Maximum number of messages that a pull requests; Gantry's brokers return no more by default."""

# Windows grow after so many full responses in a row; one that is too large costs a round trip.
_FULL_ANSWERS: Final = 8


@final
class Window:
    """One pull that is in flight or due: the messages [start, end)."""

    __slots__ = ("end", "start", "ticket")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.ticket: int | None = None
        """The number of the request; None before it is sent."""


@final
class Windows:
    """The pulls of one read of [start, end). `due` returns those to send, `head` the one whose
    response is next in queue order, and `answered` removes it."""

    def __init__(self, start: int, end: int, depth: int, *, is_filtered: bool) -> None:
        self._end = end
        self._depth = 1 if is_filtered else max(1, depth)
        self._is_filtered = is_filtered
        self._next = start
        self._count = COUNT_MAX
        self._is_known = False
        """Whether a response has shown how many messages fit."""
        self._full_answers = 0
        self._windows: list[Window] = []

    def due(self) -> list[Window]:
        """Return the windows whose requests must be sent now."""
        depth = self._depth if self._is_known else 1
        while len(self._windows) < depth and self._next < self._end:
            size = COUNT_MAX if self._is_filtered else self._count
            end = min(self._end, self._next + size)
            self._windows.append(Window(self._next, end))
            self._next = end
        return [window for window in self._windows if window.ticket is None]

    @property
    def head(self) -> Window:
        """The window whose messages come next; there is one until the read is done."""
        return self._windows[0]

    @property
    def is_done(self) -> bool:
        """Whether all messages have arrived."""
        return not self._windows and self._next >= self._end

    @property
    def is_waiting(self) -> bool:
        """Whether a request was sent whose response was not processed yet."""
        return any(window.ticket is not None for window in self._windows)

    def answered(self, next_offset: int) -> None:
        """Remove the head, whose messages arrived up to this offset."""
        head = self._windows.pop(0)
        if self._is_filtered:
            self._next = next_offset
            return
        self._learn(head, next_offset)
        if next_offset < head.end:
            self._windows.insert(0, Window(next_offset, head.end))

    def restart(self) -> None:
        """Request all windows again, because the connection was closed."""
        if self._windows:
            self._next = self._windows[0].start
            self._windows.clear()

    def _learn(self, head: Window, next_offset: int) -> None:
        self._is_known = True
        if next_offset < head.end:
            self._count, self._full_answers = max(1, next_offset - head.start), 0
        elif head.end - head.start >= self._count:  # a filled gap shows nothing about the size
            self._full_answers += 1
            if self._full_answers >= _FULL_ANSWERS:
                self._full_answers = 0
                self._count = min(COUNT_MAX, self._count + self._count // 8 + 1)
