"""Changes of tables, until nothing can take them back: they are in our file, and with all members
that may become master.

Invariant: a change is answered within STORED_SECONDS of its file; where members are missing then,
it counts here, and the answer says that a failover may forget it. So a request that finds all as it
wants it waits as well: somebody may be asking again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.broker.core import steps
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.steps import Steps

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# A member that does not answer for half as long is on its way out of the set.
STORED_SECONDS: Final = 3.0

# Members report at once; a look costs nothing.
LOOK_SECONDS: Final = 0.01


def undone(failure: str) -> str:
    """What a change is answered with that counts here, and may be taken back."""
    return f"changed, but a restart or a failover would undo it: {failure}. Ask again"


def stored(state: State, *files: File) -> Steps[str | None]:
    """Why what these hold now may be forgotten; None where it cannot be."""
    failure, epoch = None, state.members.epoch
    for file in files:
        if not state.files.is_safe(file):
            failure = (yield from steps.saved(file)) or failure
    return failure or (yield from spread(state, epoch))


def spread(state: State, epoch: int) -> Steps[str | None]:
    """Why a failover may forget what the tables say now; None where it cannot. `epoch` is that of
    the change: a later one's tables may be another master's."""
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
        yield from steps.wait(state.now + LOOK_SECONDS)
    return "this broker is not master any more, and who is may not know of it"


def _is_deposed(state: State) -> bool:
    return state.identity.is_elected and not state.identity.is_master
