"""Measures the transfer rate of a connection: the bytes of the last complete second."""

from __future__ import annotations

from typing import final


@final
class Rate:
    """The rate of one direction of one connection; `now` is monotonic seconds."""

    __slots__ = ("_count", "_last", "_second")

    def __init__(self, now: float) -> None:
        self._count = 0
        self._last = 0
        self._second = int(now)

    def add(self, count: int, now: float) -> None:
        self._go_on(now)
        self._count += count

    def per_second(self, now: float) -> int:
        self._go_on(now)
        return self._last

    def _go_on(self, now: float) -> None:
        second = int(now)
        if second != self._second:
            self._last = self._count if second == self._second + 1 else 0
            self._count = 0
            self._second = second
