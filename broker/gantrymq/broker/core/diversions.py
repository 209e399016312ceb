"""Messages that are stored elsewhere first: halves of transactions, timers, delays by level.

Invariant: a message is diverted once; what holds it back puts it where it belongs.
"""

from __future__ import annotations

from gantrymq.broker.core import delays, timers, transactions
from gantrymq.broker.core.sends import Refusal
from gantrymq.broker.core.state import State
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


def divert(state: State, record: Record) -> Record | Refusal:
    """What to store of a producer's message, or why it is refused."""
    topic = record.topic
    halved = transactions.divert(state, record)
    if isinstance(halved, tuple):
        return Refusal(*halved)
    if halved.topic != topic:
        return _unless_in_vain(state, halved)
    if sys_flag.transaction_type(halved.sys_flag) != sys_flag.TRANSACTION_COMMIT:
        # It is no half, so nobody will ever complete it: with these bits no consumer would see it.
        halved.sys_flag = sys_flag.with_transaction_type(halved.sys_flag, sys_flag.TRANSACTION_NONE)
    return hold_back(state, halved)


def _unless_in_vain(state: State, half: Record) -> Record | Refusal:
    """A half whose commit would be refused is refused at once: its producer would be told that it
    is there, and hear of it when it is too late."""
    place = transactions.place_of(half)
    assert place is not None, "a half says where its message belongs"
    final = hold_back(state, transactions.final_of(half, *place))
    return final if isinstance(final, Refusal) else half


def hold_back(state: State, record: Record) -> Record | Refusal:
    """The same for a message of the broker's own: it may be for later, but is no half."""
    topic = record.topic
    timed = timers.divert(state, record)
    if isinstance(timed, tuple):
        return Refusal(*timed)
    if timed.topic != topic:
        return timed
    delayed = delays.divert(state, timed)
    return Refusal(*delayed) if isinstance(delayed, tuple) else delayed
