"""Decides which brokers are dead: silent for too long, or disconnected beyond their grace period.

The tables are scanned every `scanNotActiveBrokerInterval`, first after FIRST_SCAN_SECONDS, as in
Java: a broker is removed at the first scan after its timeout. A closed connection removes its
brokers at once, with one exception: the master of a group whose members take over the master role
under one address (its registration carries an epoch). It has GRACE_SECONDS to return, by any sign
of life, so that polling clients do not drop the group during a failover.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gantrymq.namesrv.core.messages import Channel
from gantrymq.namesrv.core.routing.brokers import MASTER_ID, Member
from gantrymq.namesrv.core.routing.routes import Routes

FIRST_SCAN_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 15.0


class Liveness:
    """Tracks deadlines and finds members that leave; its owner removes them."""

    def __init__(self, routes: Routes, now: float) -> None:
        self._routes = routes
        self._next_scan = now + FIRST_SCAN_SECONDS
        self._away: set[Member] = set()

    def deadline(self) -> float:
        """When `due` must be called next."""
        return min([self._next_scan, *(m.leaves_at for m in self._away if m.leaves_at is not None)])

    def due(self, now: float, interval_seconds: float) -> tuple[list[Member], list[Member]]:
        """(Members silent for too long, members that did not return in time) as of now."""
        self._away = {member for member in self._away if self._is_away(member)}
        gone = [m for m in self._away if m.leaves_at is not None and m.leaves_at <= now]
        self._away.difference_update(gone)
        if now < self._next_scan:
            return [], gone
        self._next_scan = now + interval_seconds
        silent = [
            member
            for member in self._routes.members.values()
            if member.seen_at + member.timeout_seconds < now and member not in gone
        ]
        return silent, gone

    def alive(self, member: Member, channel: Channel, now: float) -> None:
        """Record a sign of life. A disconnected member returns, bound to this connection."""
        member.seen_at = now
        if member.leaves_at is not None:
            member.leaves_at = None
            self._routes.attach(member, channel)

    def closed(self, channel: Channel, now: float) -> list[Member]:
        """The members that leave with this connection now; the others begin their grace period."""
        members: Iterable[Member] = self._routes.members_of.get(channel, ())
        leaving: list[Member] = []
        for member in list(members):
            if member.broker_id == MASTER_ID and member.epoch > 0:
                self._routes.attach(member, None)
                member.leaves_at = now + GRACE_SECONDS
                self._away.add(member)
            else:
                leaving.append(member)
        return leaving

    def _is_away(self, member: Member) -> bool:
        """Whether the member is still registered and has not returned."""
        return member.leaves_at is not None and self._routes.members.get(member.address) is member
