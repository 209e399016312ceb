"""Declares how a member may regard the Lease that it knows, and the transitions between the views.

unread      this process has not read the Lease yet
current     the last answer showed the Lease, or that there is none, and contradicts nothing that
            this member knows
untrusted   the last answer contradicts what this member knows (`Lease.untrusted_reason`)
stale       the Lease may have changed: a write was rejected, or a request has no answer. The
            member reads the Lease before it writes again
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class LeaseView(Enum):
    """The views of the Lease."""

    UNREAD = 0
    CURRENT = 1
    UNTRUSTED = 2
    STALE = 3


TRUST: Final = "an answer agrees with what is known"
DISTRUST: Final = "an answer contradicts what is known"
FAIL: Final = "a request is rejected or not answered"

LEASE_VIEWS: Final[Transitions[LeaseView]] = Transitions(
    "lease view",
    LeaseView.UNREAD,
    (
        Transition(LeaseView.UNREAD, TRUST, LeaseView.CURRENT),
        Transition(LeaseView.UNREAD, DISTRUST, LeaseView.UNTRUSTED),
        Transition(LeaseView.UNREAD, FAIL, LeaseView.UNREAD),
        Transition(LeaseView.CURRENT, TRUST, LeaseView.CURRENT),
        Transition(LeaseView.CURRENT, DISTRUST, LeaseView.UNTRUSTED),
        Transition(LeaseView.CURRENT, FAIL, LeaseView.STALE, "read before the next write"),
        Transition(LeaseView.UNTRUSTED, TRUST, LeaseView.CURRENT),
        Transition(LeaseView.UNTRUSTED, DISTRUST, LeaseView.UNTRUSTED),
        Transition(LeaseView.UNTRUSTED, FAIL, LeaseView.STALE, "read before the next write"),
        Transition(LeaseView.STALE, TRUST, LeaseView.CURRENT),
        Transition(LeaseView.STALE, DISTRUST, LeaseView.UNTRUSTED),
        Transition(LeaseView.STALE, FAIL, LeaseView.STALE),
    ),
)
