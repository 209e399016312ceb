"""Declares the states of a member in the election, and the transitions between them.

    watching      another member is master, or none is; the member reads the Lease periodically
    seeking       a write that makes this member master is under way, or its outcome is unknown
    leading       the member is master: it renews the Lease in time, with the current in-sync set
    handing over  the member is still master: it rejects new requests until an in-sync member has
                  everything
    released      the member is not master: it has released the Lease, and its process ends soon

The leader elector changes its phase by this table only.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class Phase(Enum):
    """The values appear in log lines."""

    WATCHING = "watching"
    SEEKING = "seeking"
    LEADING = "leading"
    HANDING_OVER = "handing over"
    RELEASED = "released"


SEEK: Final = "seek the lease"
WIN: Final = "the lease names this process"
LOSE: Final = "the lease does not name this process"
HAND_OVER: Final = "begin a hand-over"
GIVE_UP: Final = "give up the hand-over"
STEP_DOWN: Final = "step down"
FREE: Final = "write the lease without a holder"
LEAVE: Final = "leave the group"

PHASES: Final[Transitions[Phase]] = Transitions(
    "member role",
    Phase.WATCHING,
    (
        Transition(Phase.WATCHING, SEEK, Phase.SEEKING, "write the Lease with a new epoch"),
        Transition(Phase.SEEKING, WIN, Phase.LEADING, "begin the epoch, then accept requests"),
        Transition(Phase.SEEKING, LOSE, Phase.WATCHING),
        Transition(Phase.SEEKING, STEP_DOWN, Phase.WATCHING),
        Transition(Phase.LEADING, HAND_OVER, Phase.HANDING_OVER, "reject new requests"),
        Transition(Phase.LEADING, STEP_DOWN, Phase.WATCHING, "acknowledge nothing from now on"),
        Transition(Phase.HANDING_OVER, GIVE_UP, Phase.LEADING, "accept requests again"),
        Transition(
            Phase.HANDING_OVER, STEP_DOWN, Phase.WATCHING, "acknowledge nothing from now on"
        ),
        Transition(Phase.WATCHING, FREE, Phase.WATCHING),
        Transition(Phase.WATCHING, STEP_DOWN, Phase.WATCHING, "read the Lease again"),
        Transition(Phase.WATCHING, LEAVE, Phase.RELEASED, "the process may end"),
        Transition(Phase.SEEKING, LEAVE, Phase.RELEASED, "the process may end"),
        Transition(Phase.RELEASED, STEP_DOWN, Phase.WATCHING, "read the Lease again"),
    ),
)
