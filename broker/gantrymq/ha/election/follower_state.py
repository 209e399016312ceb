"""Declares how a master regards one follower: outside the in-sync set, joining it, or in it.

    outside     the master does not wait for the follower
    joining     the follower keeps up; acknowledgements wait for it, so that they do not stay ahead
                of it
    entering    a write of the Lease with the follower is under way
    in sync     the Lease names the follower: it may become master
    leaving     a write of the Lease without the follower is under way; acknowledgements still wait
                for it

`InSyncReplicas.state` derives the state. The code does not consult the table, because a report of a
follower arrives in each turn; a test checks that all changes are in it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class FollowerState(Enum):
    """The states of a follower."""

    OUTSIDE = 0
    JOINING = 1
    ENTERING = 2
    IN_SYNC = 3
    LEAVING = 4


KEEP_UP: Final = "keep up with the log"
FALL_BEHIND: Final = "fall behind"
DISCONNECT: Final = "disconnect"
PROPOSE_WITH: Final = "the master writes the lease with it"
PROPOSE_WITHOUT: Final = "the master writes the lease without it"
NAMED: Final = "the lease is known to name it"
NOT_NAMED: Final = "the lease is known not to name it"

FOLLOWER_STATES: Final[Transitions[FollowerState]] = Transitions(
    "follower",
    FollowerState.OUTSIDE,
    (
        Transition(
            FollowerState.OUTSIDE, KEEP_UP, FollowerState.JOINING, "acknowledgements wait for it"
        ),
        Transition(FollowerState.JOINING, FALL_BEHIND, FollowerState.OUTSIDE),
        Transition(FollowerState.JOINING, DISCONNECT, FollowerState.OUTSIDE),
        Transition(FollowerState.JOINING, PROPOSE_WITH, FollowerState.ENTERING),
        Transition(
            FollowerState.IN_SYNC, PROPOSE_WITHOUT, FollowerState.LEAVING, "flush the log first"
        ),
        Transition(FollowerState.ENTERING, NAMED, FollowerState.IN_SYNC),
        Transition(FollowerState.ENTERING, NOT_NAMED, FollowerState.OUTSIDE),
        Transition(FollowerState.LEAVING, NOT_NAMED, FollowerState.OUTSIDE),
        Transition(FollowerState.LEAVING, NAMED, FollowerState.IN_SYNC),
        Transition(FollowerState.JOINING, NOT_NAMED, FollowerState.OUTSIDE),
        Transition(FollowerState.JOINING, NAMED, FollowerState.IN_SYNC, "another program wrote it"),
        Transition(FollowerState.OUTSIDE, NAMED, FollowerState.IN_SYNC, "another program wrote it"),
        Transition(
            FollowerState.IN_SYNC, NOT_NAMED, FollowerState.OUTSIDE, "another program wrote it"
        ),
    ),
)
