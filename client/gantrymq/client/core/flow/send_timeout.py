"""Adapts the timeout of a send attempt to a broker that did not answer the previous send.

    previous send timed out    attempts of the next send wait 1 s each, then 2, 4 and so on

By the next send the broker may be reachable elsewhere: a new master behind the same address, or a
new address. A broker that is merely slow gets the time it needs after a few sends. Invariant: any
response resets the timeout, and the last attempt of a send always has all the remaining time.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.flow.flow_steps import FOREVER

FIRST_S: Final = 1.0

# Longer than the timeout of any send.
LAST_S: Final = 64.0


@final
class SendTimeout:
    """The attempt timeouts of one producer, by broker name."""

    __slots__ = ("_brokers",)

    def __init__(self) -> None:
        self._brokers: dict[str, tuple[float, float]] = {}

    def of_broker(self, broker_name: str) -> float:
        """Return the timeout of an attempt in seconds. Hot path."""
        if not self._brokers:
            return FOREVER
        return self._brokers.get(broker_name, (FOREVER, 0.0))[0]

    def timed_out(self, broker_name: str, began_at: float, now: float) -> None:
        """Record that the last attempt of a send begun at `began_at` timed out; concurrent sends
        count once."""
        limit_s, counted_at = self._brokers.get(broker_name, (FIRST_S / 2, 0.0))
        if began_at >= counted_at:
            self._brokers[broker_name] = min(2 * limit_s, LAST_S), now

    def answered(self, broker_name: str) -> None:
        """Record a response from the broker. Hot path."""
        if self._brokers:
            self._brokers.pop(broker_name, None)
