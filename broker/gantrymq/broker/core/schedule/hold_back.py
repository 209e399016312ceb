"""Rewrites messages with a delay or a delivery time, so that they wait in the broker's own topics.

Invariant: a message is rewritten once. The service that holds it back later stores it in its own
topic.
"""

from __future__ import annotations

from gantrymq.broker.core.schedule import delays, timers
from gantrymq.broker.core.state import State
from gantrymq.wire.message.record import Record


def hold_back(state: State, record: Record) -> Record | tuple[int, str]:
    """The record to store for a message that may be delayed but is no half, such as the final
    message of a transaction; or the code and remark of its refusal."""
    topic = record.topic
    timed = timers.rewrite(state, record)
    if isinstance(timed, tuple) or timed.topic != topic:
        return timed
    return delays.rewrite(state, timed)
