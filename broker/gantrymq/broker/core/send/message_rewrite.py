"""Rewrites producers' messages that wait in another topic first: half, timer and delayed messages.

Half messages are those of a transaction that is not decided yet.
"""

from __future__ import annotations

from gantrymq.broker.core.schedule.hold_back import hold_back
from gantrymq.broker.core.send.sends import Refusal
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction import transactions
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record


def rewrite(state: State, record: Record) -> Record | Refusal:
    """The record to store for a producer's message, or why it is refused."""
    topic = record.topic
    halved = transactions.rewrite(state, record)
    if isinstance(halved, tuple):
        return Refusal(*halved)
    if halved.topic != topic:
        return _unless_in_vain(state, halved)
    if sys_flag.transaction_type(halved.sys_flag) != sys_flag.TRANSACTION_COMMIT:
        # The message is no half, so no decision will complete it. With these bits no consumer would
        # see it.
        halved.sys_flag = sys_flag.with_transaction_type(halved.sys_flag, sys_flag.TRANSACTION_NONE)
    held = hold_back(state, halved)
    return Refusal(*held) if isinstance(held, tuple) else held


def _unless_in_vain(state: State, half: Record) -> Record | Refusal:
    """Refuse a half message whose commit would be refused. Otherwise the producer would learn only
    at the commit, when it is too late."""
    place = transactions.place_of(half)
    assert place is not None, "a half says where its message belongs"
    final = hold_back(state, transactions.final_of(half, *place))
    return Refusal(*final) if isinstance(final, tuple) else half
