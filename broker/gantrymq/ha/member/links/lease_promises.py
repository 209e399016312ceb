"""Tracks a master's questions for promises not to seek the lease, and the followers' answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Set as AbstractSet
from typing import Final, final

# A promise lasts for one lease duration: older questions are of no use.
QUESTIONS_MAX: Final = 64


@final
class LeasePromises:
    """The questions and promises of one epoch; the incoming links own them."""

    __slots__ = ("_answered", "_questions", "asked")

    def __init__(self) -> None:
        self._answered: dict[int, int] = {}
        """By member, the last question that it answered."""
        self._questions: deque[tuple[int, float]] = deque(maxlen=QUESTIONS_MAX)
        self.asked = 0
        """The number of the last question; 0 before the first."""

    def ask(self, number: int, now: float) -> None:
        """Record a question that is sent now; numbers rise."""
        self.asked = number
        self._questions.append((number, now))

    def answer(self, member: int, number: int) -> None:
        """Record that the member has promised what this question asks."""
        self._answered[member] = max(number, self._answered.get(member, 0))

    def since(self, members: AbstractSet[int]) -> float | None:
        """When the last question was sent that all of these followers have answered; None if there
        is none."""
        answered = min((self._answered.get(each, 0) for each in members), default=self.asked)
        times = (sent_at for number, sent_at in reversed(self._questions) if number <= answered)
        return next(times, None)
