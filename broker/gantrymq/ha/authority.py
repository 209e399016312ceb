"""Until when a broker may say that a message is stored for good.

A master of a group that elects has its authority by a lease, whose holder may be another one by the
time an answer leaves: so whoever sends answers compares this with a clock that was read just then.
"""

from __future__ import annotations

from typing import Final, final

ALWAYS: Final = float("inf")


@final
class Authority:
    """Of one broker; of fixed roles it never ends."""

    __slots__ = ("until",)

    def __init__(self, until: float = ALWAYS) -> None:
        self.until: float = until
        """Monotonic seconds."""
