"""How long a try waits for a broker that did not answer the last send in its time.

    the last send had no answer    the tries of the next one wait 1 s each, then 2, 4 and so on

The way there may lead elsewhere by now: another master behind the same address, another address.
Who is merely slow gets the time it needs after a few sends. Invariant: an answer, whichever, ends
the impatience; the last try of a send always has all the time that is left.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.steps import FOREVER

FIRST_S: Final = 1.0

# Longer than sends are waited for.
LAST_S: Final = 64.0


@final
class Patience:
    """Of one producer with its brokers, by their names."""

    __slots__ = ("_brokers",)

    def __init__(self) -> None:
        self._brokers: dict[str, tuple[float, float]] = {}

    def with_broker(self, broker_name: str) -> float:
        """How long a try waits. Hot."""
        if not self._brokers:
            return FOREVER
        return self._brokers.get(broker_name, (FOREVER, 0.0))[0]

    def had_no_answer(self, broker_name: str, began_at: float, now: float) -> None:
        """To the last try of a send that began then: sends side by side count once."""
        limit_s, counted_at = self._brokers.get(broker_name, (FIRST_S / 2, 0.0))
        if began_at >= counted_at:
            self._brokers[broker_name] = min(2 * limit_s, LAST_S), now

    def was_heard(self, broker_name: str) -> None:
        """Hot."""
        if self._brokers:
            self._brokers.pop(broker_name, None)
