"""Waits until a change of a table is durable: in this broker's file, and at all in-sync members.

Invariant: a change is answered within STORED_SECONDS of its file. If members lack it then, it is in
force here, and the answer says that a failover may undo it. A request that changes nothing waits as
well, because it may repeat such a change.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.state import State

# A member that does not answer for half as long is about to leave the ISR.
STORED_SECONDS: Final = 3.0

# Members report at once; a check costs nothing.
LOOK_SECONDS: Final = 0.01


def undone(failure: str) -> str:
    """The answer to a change that is in force and may be undone."""
    return f"changed, but a restart or a failover would undo it: {failure}. Repeat the request"


def stored(state: State, *files: File) -> Task[str | None]:
    """Why the current content of these files may be lost; None when it is durable."""
    failure, epoch = None, state.members.epoch
    for file in files:
        if not state.files.is_safe(file):
            failure = (yield from tasks.saved(file)) or failure
    return failure or (yield from spread(state, epoch))


def spread(state: State, epoch: int) -> Task[str | None]:
    """Why a failover may undo the current tables; None when it cannot.

    `epoch` is that of the change: the tables of a later epoch may be another master's.
    """
    number = state.members.spread()
    until = state.now + STORED_SECONDS
    while state.members.epoch == epoch and not _is_deposed(state):
        lacking = state.members.lacking(number)
        if not lacking:
            return None
        if state.now >= until:
            return (
                f"{', '.join(lacking)} did not store it within {STORED_SECONDS:.0f} s, and may"
                " become master without it"
            )
        yield from tasks.wait(state.now + LOOK_SECONDS)
    return "this broker is not master any more, and the new master may not have the change"


def _is_deposed(state: State) -> bool:
    return state.identity.is_elected and not state.identity.is_master
