"""Declares the phases of an incoming link, as the master sees them, and their transitions.

    handshake      the peer has proved nothing yet; the link buffers only a few bytes
    identified     the peer is a member; the links' owner decides whether it may follow
    following      the master sends the log from the end of the follower's log on, if the master's
                   log continues there; from the beginning if the follower's log is empty; otherwise
                   nothing: the follower truncates its log first, and then reconnects
    refused        the peer may not follow; the reason waits in the output
    refusal sent   the network has accepted the reason, and the connection is closed

A link may end in every phase (`IncomingLink.is_over`).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class LinkPhase(Enum):
    """The phases of an incoming link."""

    HANDSHAKE = 0
    IDENTIFIED = 1
    FOLLOWING = 2
    REFUSED = 3
    REFUSAL_SENT = 4


IDENTIFY: Final = "the peer proves that it is a member"
WELCOME: Final = "the master accepts the follower"
REFUSE: Final = "the master refuses the follower"
SEND_REFUSAL: Final = "the network accepts the refusal"

LINK_PHASES: Final[Transitions[LinkPhase]] = Transitions(
    "incoming link",
    LinkPhase.HANDSHAKE,
    (
        Transition(
            LinkPhase.HANDSHAKE, IDENTIFY, LinkPhase.IDENTIFIED, "compare the two members' reports"
        ),
        Transition(
            LinkPhase.IDENTIFIED, WELCOME, LinkPhase.FOLLOWING, "send the log, tables, heartbeats"
        ),
        Transition(LinkPhase.IDENTIFIED, REFUSE, LinkPhase.REFUSED, "put the reason in the output"),
        Transition(LinkPhase.REFUSED, SEND_REFUSAL, LinkPhase.REFUSAL_SENT, "close the connection"),
    ),
)
