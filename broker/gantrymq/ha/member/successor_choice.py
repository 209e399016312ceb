"""Chooses the member to which a master hands over."""

from __future__ import annotations

from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.lease.lease import NO_MEMBER
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.store.engine import Store


@final
class SuccessorChoice:
    """The state of a master's hand-over and its choice of a successor; MemberContext owns it."""

    __slots__ = ("_elector", "_incoming", "_me", "_store", "_tables", "_tables_by", "is_paused")

    def __init__(
        self, me: int, elector: LeaderElector, incoming: IncomingLinks, store: Store
    ) -> None:
        self._elector = elector
        self._incoming = incoming
        self._me = me
        self._store = store
        self._tables = 0
        """The table number that a successor has to store."""
        self._tables_by = NEVER
        """Until when the hand-over waits for it."""
        self.is_paused = False
        """Whether the master accepts no requests during the hand-over."""

    def wait_for_tables(self, number: int, by: float) -> None:
        """Until this time accept only a successor that has stored the tables of this number."""
        self._tables, self._tables_by = number, by

    def deadline(self, now: float) -> float:
        """When a member without the tables may become a possible successor."""
        return self._tables_by if now < self._tables_by else NEVER

    def has_able(self) -> bool:
        """Whether an in-sync member follows this one and could accept messages as master."""
        in_sync, lease = self._elector.in_sync, self._elector.lease
        if in_sync is None or lease is None:
            return False
        others = in_sync.persisted - lease.fenced
        return any(self._incoming.accepts_messages(each) for each in others)

    def choose(self, chosen: int, now: float) -> int:
        """The in-sync member whose log ends where this one's does. Until the time limit it also has
        to have the tables. It must accept messages, unless this member has to leave."""
        in_sync, lease = self._elector.in_sync, self._elector.lease
        if in_sync is None or lease is None or not self.is_paused:
            return NO_MEMBER
        if not self._store.waiters.is_empty and self._store.stall(now) is None:
            return NO_MEMBER
        complete = {each for each in in_sync.persisted if self._incoming.has_all(each)}
        able = complete - lease.fenced
        if now < self._tables_by:
            able = {each for each in able if self._incoming.stored_by({each}) >= self._tables}
        if chosen != NO_MEMBER:
            return chosen if chosen in able else NO_MEMBER
        takers = {each for each in able if self._incoming.accepts_messages(each)}
        has_to_go = self._elector.is_leaving or self._me in lease.fenced
        if takers or not has_to_go:
            able = takers
        preferred = lease.operator_requests.preferred
        return preferred if preferred in able else min(able, default=NO_MEMBER)
