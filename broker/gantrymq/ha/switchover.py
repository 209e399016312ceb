"""What an operator wants of a master: to give its lease away, to a certain member or to any.

A fenced master hands over as soon as somebody else of the set may be master. Who is wished for is
waited for until it is in sync, SWITCH_SECONDS at most; then the wish is given up, and counts as
granted, so that it is not taken up once more.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, final

from gantrymq.ha.lease import NOBODY, Lease

# Whom an operator wants, and who is not in the set, is waited for so long.
SWITCH_SECONDS: Final = 10.0

NEVER: Final = float("inf")


@final
class Switchover:
    """Of one member, while it is master."""

    __slots__ = ("_me", "by")

    def __init__(self, me: int) -> None:
        self._me = me
        self.by = NEVER
        """Until when somebody is waited for."""

    def heir(self, lease: Lease, in_sync: AbstractSet[int], now: float) -> int | None:
        """To whom the lease is to be handed over now, NOBODY if that is all the same; None: it is
        not to be."""
        wishes, me = lease.wishes, self._me
        if me in lease.fenced and in_sync - {me} - lease.fenced:
            return NOBODY
        if wishes.number > lease.granted and wishes.switch_to not in (NOBODY, me):
            self.by = min(self.by, now + SWITCH_SECONDS)
            if now < self.by and wishes.switch_to in in_sync:
                return wishes.switch_to
        return None

    def granted(self, lease: Lease, now: float) -> int:
        """The number of the last switchover that needs nothing more of us: what we were told to
        do is done, or could not be."""
        wishes = lease.wishes
        is_there = wishes.switch_to in (NOBODY, self._me)
        if wishes.number > lease.granted and (is_there or now >= self.by):
            self.by = NEVER
            return wishes.number
        return lease.granted

    def give_up(self, now: float) -> None:
        """It could not be done."""
        self.by = now

    def end(self) -> None:
        """We are not master any more."""
        self.by = NEVER
