"""Tracks an operator's request to hand the lease to another member.

A fenced master hands over as soon as another in-sync member may be master. A requested member is
given SWITCH_SECONDS to become in sync; after that the request is given up and counts as granted, so
that it is not taken up again.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.lease.lease import NO_MEMBER, Lease

# How long the master waits for the requested member to enter the in-sync set.
SWITCH_SECONDS: Final = 10.0


@final
class Switchover:
    """The switchover requests that this member handles while it is master; owned by its leader
    elector."""

    __slots__ = ("_me", "by")

    def __init__(self, me: int) -> None:
        self._me = me
        self.by = NEVER
        """Until when the master waits for the requested member."""

    def successor(self, lease: Lease, in_sync: AbstractSet[int], now: float) -> int | None:
        """The member to hand the lease to now, NO_MEMBER for any eligible member, or None for no
        hand-over."""
        operator_requests, me = lease.operator_requests, self._me
        if me in lease.fenced and in_sync - {me} - lease.fenced:
            return NO_MEMBER
        if operator_requests.number > lease.granted and operator_requests.switch_to not in (
            NO_MEMBER,
            me,
        ):
            self.by = min(self.by, now + SWITCH_SECONDS)
            if now < self.by and operator_requests.switch_to in in_sync:
                return operator_requests.switch_to
        return None

    def granted(self, lease: Lease, now: float) -> int:
        """The number of the last switchover request that is finished: carried out or given up."""
        operator_requests = lease.operator_requests
        is_done = operator_requests.switch_to in (NO_MEMBER, self._me)
        if operator_requests.number > lease.granted and (is_done or now >= self.by):
            self.by = NEVER
            return operator_requests.number
        return lease.granted

    def give_up(self, now: float) -> None:
        """Give up the current request."""
        self.by = now

    def end(self) -> None:
        """Forget the request, because this member is no longer master."""
        self.by = NEVER
