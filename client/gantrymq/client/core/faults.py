"""How long a broker that was slow, or failed, is left alone when there are others.

    took at least    50   100  550   1800  3000  5000  15000 ms
    left alone for   0    0    2000  5000  6000  10000 30000 ms

A try that failed counts as 10 s, however long it took. Invariant: a broker is left alone by choice
only: when all of them are, one is taken all the same.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

_SLOW_S: Final = (0.05, 0.1, 0.55, 1.8, 3.0, 5.0, 15.0)
_LEFT_ALONE_S: Final = (0.0, 0.0, 0.0, 2.0, 5.0, 6.0, 10.0, 30.0)

FAILED_S: Final = 10.0


@final
class Faults:
    """Of the brokers that one producer sends to, by their names."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def took(self, broker_name: str, seconds: float, now: float) -> None:
        """A try that was answered."""
        left_alone_s = _LEFT_ALONE_S[bisect_right(_SLOW_S, seconds)]
        if left_alone_s:
            self._until[broker_name] = now + left_alone_s
        else:
            self._until.pop(broker_name, None)

    def failed(self, broker_name: str, now: float) -> None:
        """A try that was not, or was refused."""
        self.took(broker_name, FAILED_S, now)

    def is_available(self, broker_name: str, now: float) -> bool:
        return self._until.get(broker_name, 0.0) <= now
