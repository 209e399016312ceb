"""Commits or rolls back a transaction, as its producer or an administrator decides.

    commit      appends the final message, then an op message for the half, in one write of the log
    roll back   appends the op message

The first decision counts. A second one, by whichever copy of the half message, is refused and
changes nothing. In RocketMQ each commit that finds the half message in the log delivers the message
again, even after a rollback. If a crash loses the op message but not the final message, the broker
asks the producer again, and the second commit delivers the message twice: delivery is at least
once.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Reply
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.schedule.hold_back import hold_back
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.put_batches import put_together
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC, final_of, op_of, place_of
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message import offset_id
from gantrymq.wire.message.record import Record

NOT_FOUND: Final = "Find prepared transaction message failed"

# How long a decision waits: after a start until the queues have been read, otherwise for a copy of
# the half that is being stored. After that it is refused, and the transaction check asks again.
WAIT_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 0.05


def decide(state: State, half: Record, *, commits: bool, waits: bool) -> Task[Reply]:
    """Commit or roll back, unless the transaction has been decided already."""
    if not (yield from _has_turn(state, half)):
        return refused(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            f"the transaction's state is not known after {WAIT_SECONDS:.0f} s: the broker is still "
            "reading its half messages, or its disk is slow; it asks the producer again by itself",
        )
    halves = state.open_halves
    if not halves.is_open(half):
        return _too_late(half, commits=commits)
    records = [op_of(state, halves.newest(half))]
    if commits:
        final = _final(state, half)
        if isinstance(final, Reply):
            return final
        records.insert(0, final)
    with halves.claim([half]):
        answer = yield from put_together(state, records, waits=waits)
        if not answer.status.is_stored:
            return refused(answer.status.response_code, answer.remark)
        halves.ended(half)
    _count(state, half, records[0] if commits else None)
    return done()


def _count(state: State, half: Record, delivered: Record | None) -> None:
    """Count the end of a transaction; `delivered` is the message that a commit stored."""
    place = place_of(half)
    topic = "" if place is None else place[0]
    if delivered is None:
        state.figures.rolled_back.add(topic)
        return
    state.stats.sent(utf8_text(delivered.topic), 1, delivered.size)
    state.figures.count_commit(topic, (state.wall_ms - half.born_timestamp_ms) / 1000)


def _has_turn(state: State, half: Record) -> Task[bool]:
    until = state.now + WAIT_SECONDS
    while not state.open_halves.is_ready or state.open_halves.is_claimed(half):
        if state.now >= until:
            return False
        yield from tasks.wait(state.now + PAUSE_SECONDS)
    return True


def _final(state: State, half: Record) -> Record | Reply:
    """The message that a commit stores, or a refusal. The delay of a delayed message begins now."""
    place = place_of(half)
    if place is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{NOT_FOUND}: {_name(half)} does not say which topic and queue it is meant for; roll "
            "it back, and send the message again",
        )
    final = hold_back(state, final_of(half, *place))
    return refused(*final) if isinstance(final, tuple) else final


def _too_late(half: Record, *, commits: bool) -> Reply:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"{NOT_FOUND}: it is too late to {'commit' if commits else 'roll back'} {_name(half)}: its "
        f"transaction was committed, rolled back or given up before; see {GIVEN_UP_TOPIC} for the "
        "last",
    )


def _name(half: Record) -> str:
    return f"half message {offset_id.encode(half.store_host, half.physical_offset)}"
