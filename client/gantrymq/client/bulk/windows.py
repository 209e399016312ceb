"""Decides which pulls of a read are under way at the same time.

The end of an answer is known only when it is there: bytes limit it as well as the count. So the
read guesses: it asks for windows of as many messages as answers had lately, several at once. An
answer that ends before its window leaves a gap, which is asked for before anything else.

    queue      start ........ gap [a b) | window [b c) | window [c d) ........ end

With a filter the reader cannot know how many messages a window has: then one pull is under way at
a time.

Invariant: the windows under way, the gap first, lie one behind the other without overlap; messages
are given in the order of the queue.
"""

from __future__ import annotations

from typing import Final, final

COUNT_MAX: Final = 4096
"""Messages that one pull asks for at most; brokers of ours give no more by default."""

# Full answers in a row until the windows grow: a window that is too large costs a round trip.
_FULL_ANSWERS: Final = 8


@final
class Window:
    """One pull that is under way, or is to be: the messages [start, end)."""

    __slots__ = ("end", "start", "ticket")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.ticket: int | None = None
        """The number of the request; None before it is sent."""


@final
class Windows:
    """The pulls of one read of [start, end). `due` names those to send; `head` is the one whose
    answer comes next in the queue's order; `answered` moves on."""

    def __init__(self, start: int, end: int, depth: int, *, is_filtered: bool) -> None:
        self._end = end
        self._depth = 1 if is_filtered else max(1, depth)
        self._is_filtered = is_filtered
        self._next = start
        self._count = COUNT_MAX
        self._is_known = False
        """Whether an answer has shown how many messages fit."""
        self._full_answers = 0
        self._windows: list[Window] = []

    def due(self) -> list[Window]:
        """The windows to send a request for now."""
        depth = self._depth if self._is_known else 1
        while len(self._windows) < depth and self._next < self._end:
            size = COUNT_MAX if self._is_filtered else self._count
            end = min(self._end, self._next + size)
            self._windows.append(Window(self._next, end))
            self._next = end
        return [window for window in self._windows if window.ticket is None]

    @property
    def head(self) -> Window:
        """The window whose messages come next; there is one while there is anything due."""
        return self._windows[0]

    @property
    def is_done(self) -> bool:
        """Whether all messages came."""
        return not self._windows and self._next >= self._end

    @property
    def is_waiting(self) -> bool:
        """Whether a request was sent whose answer was not taken."""
        return any(window.ticket is not None for window in self._windows)

    def answered(self, next_offset: int) -> None:
        """The head's messages came up to this offset."""
        head = self._windows.pop(0)
        if self._is_filtered:
            self._next = next_offset
            return
        self._learn(head, next_offset)
        if next_offset < head.end:
            self._windows.insert(0, Window(next_offset, head.end))

    def restart(self) -> None:
        """Nothing is under way any more: all windows are asked for again."""
        if self._windows:
            self._next = self._windows[0].start
            self._windows.clear()

    def _learn(self, head: Window, next_offset: int) -> None:
        self._is_known = True
        if next_offset < head.end:
            self._count, self._full_answers = max(1, next_offset - head.start), 0
        elif head.end - head.start >= self._count:  # a gap that is filled says nothing
            self._full_answers += 1
            if self._full_answers >= _FULL_ANSWERS:
                self._full_answers = 0
                self._count = min(COUNT_MAX, self._count + self._count // 8 + 1)
