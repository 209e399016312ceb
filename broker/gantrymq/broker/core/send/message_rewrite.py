"""Rewrites messages that wait in another topic first: half messages, timer and delayed messages.

Invariant: a message is rewritten once. The service that holds it back later stores it in its own
topic.
"""

from __future__ import annotations

from gantrymq.broker.core.schedule import delays, timers
from gantrymq.broker.core.send.sends import Refusal
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction import transactions
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


def divert(state: State, record: Record) -> Record | Refusal:
    """The record to store for a producer's message, or why it is refused."""
    topic = record.topic
    halved = transactions.divert(state, record)
    if isinstance(halved, tuple):
        return Refusal(*halved)
    if halved.topic != topic:
        return _unless_in_vain(state, halved)
    if sys_flag.transaction_type(halved.sys_flag) != sys_flag.TRANSACTION_COMMIT:
        # The message is no half, so no decision will complete it. With these bits no consumer would
        # see it.
        halved.sys_flag = sys_flag.with_transaction_type(halved.sys_flag, sys_flag.TRANSACTION_NONE)
    return hold_back(state, halved)


def _unless_in_vain(state: State, half: Record) -> Record | Refusal:
    """Refuse a half message whose commit would be refused. Otherwise the producer would learn only
    at the commit, when it is too late."""
    place = transactions.place_of(half)
    assert place is not None, "a half says where its message belongs"
    final = hold_back(state, transactions.final_of(half, *place))
    return final if isinstance(final, Refusal) else half


def hold_back(state: State, record: Record) -> Record | Refusal:
    """The record to store for a message that may be delayed but is no half, such as the final
    message of a transaction; or why it is refused."""
    topic = record.topic
    timed = timers.divert(state, record)
    if isinstance(timed, tuple):
        return Refusal(*timed)
    if timed.topic != topic:
        return timed
    delayed = delays.divert(state, timed)
    return Refusal(*delayed) if isinstance(delayed, tuple) else delayed
