"""Declares the phases of one queue of a push consumer, from its assignment to its release.

`ProcessQueue` holds the phase. The pull loop and the rebalance report events to it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class QueuePhase(Enum):
    """What a push consumer does with a queue."""

    CHECKING = "checks whether it may pull"
    WAITING = "pauses before it checks again"
    PULLING = "waits for the broker's response to a pull"
    DROPPED = "no longer assigned: no new work starts"
    RELEASED = "another consumer may take the queue"


# The events of the table.
CLEAR: Final = "nothing prevents a pull"
SUSPENDED: Final = "consumer suspended"
UNKNOWN_FILTER: Final = "subscription unknown to brokers"
UNLOCKED: Final = "queue lock not held"
FULL: Final = "buffer full"
PAUSE_OVER: Final = "pause over or queue changed"
FOUND: Final = "messages found"
NOTHING_NEW: Final = "no matching message"
FILTER_CHANGED: Final = "filter changed meanwhile"
BUSY: Final = "broker busy"
FAILED: Final = "pull failed"
DROP: Final = "queue dropped"
RELEASE: Final = "offset persisted"

_CHECKING, _WAITING, _PULLING = QueuePhase.CHECKING, QueuePhase.WAITING, QueuePhase.PULLING
_DROPPED = QueuePhase.DROPPED

QUEUE_PHASES: Final = Transitions(
    "push consumer queue",
    _CHECKING,
    [
        Transition(_CHECKING, CLEAR, _PULLING, "sends a pull"),
        Transition(_CHECKING, SUSPENDED, _WAITING, "pauses for 1 s"),
        Transition(_CHECKING, UNKNOWN_FILTER, _WAITING, "pauses for 1 s"),
        Transition(_CHECKING, UNLOCKED, _WAITING, "pauses for 0.1 s; orderly consumers only"),
        Transition(_CHECKING, FULL, _WAITING, "pauses for 50 ms, or until there is room"),
        Transition(_WAITING, PAUSE_OVER, _CHECKING),
        Transition(_PULLING, FOUND, _CHECKING, "delivers the messages to listeners"),
        Transition(_PULLING, NOTHING_NEW, _CHECKING, "advances the offset of an empty buffer"),
        Transition(_PULLING, FILTER_CHANGED, _CHECKING, "discards the response"),
        Transition(_PULLING, BUSY, _WAITING, "pauses for 20 ms"),
        Transition(_PULLING, FAILED, _WAITING, "pauses for 1 s; fetches the route again"),
        Transition(_CHECKING, DROP, _DROPPED),
        Transition(_WAITING, DROP, _DROPPED),
        Transition(
            _PULLING,
            DROP,
            _DROPPED,
            "not in the share, lock lost, idle, offset reset or out of range, or consumer closed",
        ),
        Transition(_DROPPED, RELEASE, QueuePhase.RELEASED, "releases the lock"),
    ],
)
