"""Defines the Clock port, the only source of time in the product.

`monotonic()` is seconds as a float, for deadlines and ages; `wall_ms()` is the calendar time in
integer milliseconds, for values that are shown, stored or sent. The two are never mixed.
"""

from __future__ import annotations

from time import monotonic, time_ns
from typing import Final, Protocol, final


class Clock(Protocol):
    """A source of time, real or virtual."""

    def monotonic(self) -> float: ...

    def wall_ms(self) -> int: ...


@final
class SystemClock:
    """The clocks of the operating system."""

    __slots__ = ()

    def monotonic(self) -> float:
        return monotonic()

    def wall_ms(self) -> int:
        return time_ns() // 1_000_000


@final
class VirtualClock:
    """Time that advances only by `advance`; both clocks advance together."""

    __slots__ = ("_monotonic", "_wall_ms_at_zero")

    def __init__(self, *, wall_ms: int = 1_700_000_000_000) -> None:
        self._monotonic = 0.0
        self._wall_ms_at_zero = wall_ms

    def monotonic(self) -> float:
        return self._monotonic

    def wall_ms(self) -> int:
        return self._wall_ms_at_zero + int(self._monotonic * 1000)

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "time does not go backwards"
        self._monotonic += seconds


SYSTEM_CLOCK: Final = SystemClock()
