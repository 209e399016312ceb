"""Answers the leader elector's questions about its member (election_context.py).

The answers combine what the disk, the store, the links and the broker's role say at this moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.verdict import ReceivedReport
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.ha.member.links.outgoing_links import OutgoingLinks
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.member.successor_choice import SuccessorChoice
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.ha.roles import Roles
from gantrymq.store.engine import Store

_DECIDE: Final = (
    "the member does not take part in the group, and does not change this disk. If all members of"
    " the group report this, the Lease was replaced and the disks are right: restore the Lease, or"
    " delete it and restart the members. If only this member reports it, run `gantry store archive`"
    " on this store, and the member begins with an empty store and keeps the old one beside it; or"
    " run `gantry store adopt --group` with the Lease's UUID if the messages on this disk belong to"
    " this group"
)


@final
class MemberContext:
    """The context of one leader elector; the member owns it."""

    __slots__ = (
        "_elector",
        "_incoming",
        "_me",
        "_nonce",
        "_outgoing",
        "_replica_state",
        "_roles",
        "_store",
        "successors",
    )

    def __init__(
        self,
        me: int,
        elector: LeaderElector,
        store: Store,
        replica_state: ReplicaState,
        roles: Roles,
        incoming: IncomingLinks,
        outgoing: OutgoingLinks,
        nonce: Callable[[], bytes],
    ) -> None:
        self._elector = elector
        self._incoming = incoming
        self._me = me
        self._nonce = nonce
        self._outgoing = outgoing
        self._replica_state = replica_state
        self._roles = roles
        self._store = store
        self.successors = SuccessorChoice(me, elector, incoming, store)

    # ------------------------------------------------------------------ this disk and log

    def member_report(self) -> MemberReport:
        member_report = self._replica_state.member_report()
        return member_report if self._roles.may_lead else member_report._replace(is_electable=False)

    def new_id(self) -> str:
        return self._nonce().hex()

    @property
    def identity(self) -> Identity:
        """The identity of this disk."""
        return self._replica_state.identity

    @property
    def is_foreign(self) -> bool:
        """Whether an operator has to decide what becomes of this disk."""
        return self.foreign_reason() is not None

    def foreign_reason(self) -> str | None:
        lease, ours = self._elector.lease, self._replica_state.identity
        if lease is None or not lease.group or lease.group == ours.group:
            return None
        if ours.group:
            return (
                f"the disk of member {self._me} belongs to the group {ours.group}, and the Lease to"
                f" the group {lease.group}: {_DECIDE}"
            )
        if self._replica_state.is_of_no_group or lease.disks.get(self._me, "") in ("", ours.disk):
            return None
        return (
            f"the disk of member {self._me} has messages and names no group, and the Lease of the"
            f" group {lease.group} names another disk for this member: {_DECIDE}"
        )

    # ------------------------------------------------------------------ the store

    def stall(self, now: float) -> str | None:
        return self._store.stall(now)

    def trouble(self, now: float) -> str | None:
        return self._store.trouble(now)

    def flush_acknowledged(self, now: float) -> bool:
        store, held = self._store, self._incoming.held
        store.flush_soon(now)
        return store.flushed >= (store.log.end if held is None else held)

    # ------------------------------------------------------------------ other members

    def received_reports(self) -> Mapping[int, ReceivedReport]:
        return self._outgoing.reports.by_member

    def follows_master(self) -> bool:
        return self._outgoing.follows_master

    def promised_since(self) -> float | None:
        members = self._elector.must_promise()
        return None if members is None else self._incoming.promised_since(members)

    def has_able_successor(self) -> bool:
        return self.successors.has_able()

    def successor(self, chosen: int, now: float) -> int:
        return self.successors.choose(chosen, now)
