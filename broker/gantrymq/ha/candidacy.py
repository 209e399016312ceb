"""Whether a member that is not master seeks the lease now: by what the logs say (election.py), and
by what it has promised.

Who promised not to seek the lease keeps that for DURATION_SECONDS, unless the master that was
promised it cannot go on anyway: it gave its lease away, or the lease is our own again.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.ha.election import Verdict, View, judge
from gantrymq.ha.lease import DURATION_SECONDS, NOBODY, Lease
from gantrymq.ha.lease_desk import LeaseDesk
from gantrymq.ha.place import Place
from gantrymq.ha.surroundings import Surroundings

NEVER: Final = float("inf")


@final
class Candidacy:
    """Of one member."""

    __slots__ = ("_place", "_promised_until", "again_at")

    def __init__(self, place: Place, now: float, *, is_new: bool) -> None:
        """`is_new`: no earlier life of ours has promised anything."""
        self._place = place
        self._promised_until = now if is_new else now + DURATION_SECONDS
        self.again_at = NEVER
        """When it may be another verdict, if nothing happens before."""

    def promise(self, now: float) -> None:
        """Not to seek the lease for its duration."""
        self._promised_until = now + DURATION_SECONDS

    def judge(self, desk: LeaseDesk, around: Surroundings, now: float) -> Verdict | None:
        """Whether to seek it; None: we promised not to."""
        lease = desk.lease
        if lease and now < self._promised_until and self._may_others_lead(lease, around):
            self.again_at = self._promised_until
            return None
        view = View(
            self._place.number,
            self._place.configured,
            around.standing(),
            lease,
            desk.changed_at,
            desk.touched_at,
            around.sightings(),
            around.stall(now),
            around.trouble(now),
            around.stray(),
        )
        verdict = judge(view, now)
        self.again_at = verdict.again_at
        return verdict

    def _may_others_lead(self, lease: Lease, around: Surroundings) -> bool:
        """Whether the one to whom we promised may go on: who gives its lease away does not, unless
        the lease was set back to what it was, or edited."""
        if lease.doubt is not None or lease.epoch < around.standing().epoch:
            return True
        return lease.holder not in (NOBODY, self._place.number)
