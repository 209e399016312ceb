"""Decides whether a broker is ready: it serves, and a member of a group is in sync as well.

    fixed roles   ready while it serves, its disk accepts messages and its queues keep up
    master        ready while it may acknowledge messages and enough members are in sync
    follower      ready while the Lease of the newest epoch that it knows lists it, with the disk
                  that it has now, in the in-sync set
    foreign disk  not ready: an operator has to decide what becomes of it

An orchestrator relies on readiness in rolling updates and drains: a ready member can become master
next without data loss, so the next pod may be stopped. That is why a follower that is catching up
is not ready, though it serves reads, and why a group of one is ready as soon as its only member
leads.

`reason` says why a member is not ready, from values that `view_of` takes from the member.
`store_reason` does so for a broker with a fixed role.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import NO_MEMBER, Lease
from gantrymq.ha.member.member import Member
from gantrymq.store.engine import Store

# Queues and index follow the log within milliseconds. If they are this far behind, they cannot keep
# up, or cannot be written: consumers would not see what a master of this log acknowledges.
DISPATCH_BEHIND_BYTES_MAX: Final = 64 << 20


@final
@dataclass(frozen=True, slots=True)
class MemberView:
    """The state on which the readiness of a member depends."""

    number: int
    min_in_sync: int
    lease: Lease | None
    """The Lease as last read."""
    epoch: int
    """The epoch of which this member is master; 0 while it is not."""
    seen_epoch: int
    """The highest epoch that the member knows of."""
    may_acknowledge: bool
    is_handing_over: bool
    is_lease_fresh: bool
    """Whether the lease of another member has not expired."""
    follows_master: bool
    behind_bytes: int
    """How much is missing of the log that the master had when the connection to it began."""
    dispatch_behind: int
    trouble: str | None
    """Why its disk accepts no messages."""
    last_log_line: str
    """The last line that it logged about the election."""
    foreign_reason: str | None = None
    """Why its disk does not belong to the group."""
    disk: str = ""
    """The UUID of its disk; "" if it has none yet."""
    refusal: str = ""
    """Why the master refuses this member, if only an operator can remove the cause."""


def view_of(
    member: Member, store: Store, number: int, min_in_sync: int, last_log_line: str, now: float
) -> MemberView:
    """The current values."""
    elector = member.elector
    return MemberView(
        number,
        min_in_sync,
        elector.lease,
        member.epoch,
        member.seen_epoch,
        may_acknowledge=now < member.lease_deadline(now),
        is_handing_over=elector.phase is Phase.HANDING_OVER,
        is_lease_fresh=elector.trusts_master(now),
        follows_master=bool(member.followed),
        behind_bytes=member.behind_bytes,
        dispatch_behind=store.dispatch_behind,
        trouble=member.context.stall(now) or member.context.trouble(now),
        last_log_line=last_log_line,
        foreign_reason=member.context.foreign_reason(),
        disk=member.context.identity.disk,
        refusal=member.refusal,
    )


def reason(view: MemberView) -> str | None:
    """Why this member is not ready; None if it is."""
    if view.foreign_reason is not None:
        return view.foreign_reason
    role = _as_master(view) if view.epoch else _as_follower(view)
    return role or store_reason(view.trouble, view.dispatch_behind)


def _as_master(view: MemberView) -> str | None:
    if view.is_handing_over:
        return "the member is handing its group over to another member"
    if not view.may_acknowledge:
        return (
            f"the member is master of epoch {view.epoch}, and did not renew the Lease in time: it"
            " acknowledges nothing until it renews the Lease"
        )
    in_sync = view.lease.in_sync if view.lease else frozenset[int]()
    if len(in_sync) < view.min_in_sync:
        return (
            f"the member is master of epoch {view.epoch}, and too few members are in sync:"
            f" {_names(in_sync)} of minInSyncReplicas={view.min_in_sync}; messages are stored,"
            " and answered SLAVE_NOT_AVAILABLE"
        )
    return None


def _as_follower(view: MemberView) -> str | None:
    lease = view.lease
    if lease is None:
        return f"the member has not read the group's Lease, or there is none{_last_event(view)}"
    if lease.untrusted_reason is not None and not view.follows_master:
        return f"the group's Lease is not trusted: {lease.untrusted_reason}{_last_event(view)}"
    if view.number in lease.fenced:
        return "the member is fenced: an operator excluded it from becoming master"
    has_master = lease.holder not in (NO_MEMBER, view.number)
    if not has_master or not (view.is_lease_fresh or view.follows_master):
        return f"the group has no master: {_last_holder(lease)}{_last_event(view)}"
    if view.seen_epoch > lease.epoch:
        return f"epoch {view.seen_epoch} has begun, and the member has not read its Lease"
    if lease.names(view.number, view.disk):
        return None
    if not view.follows_master:
        if view.refusal:
            return f"the master, member {lease.holder}, refuses this member: {view.refusal}"
        address = f"member {lease.holder} at {lease.ha_address}"
        return f"the member is not connected to the master, {address}{_last_event(view)}"
    if view.behind_bytes:
        return (
            f"the member is catching up with the master, member {lease.holder}: it lacks"
            f" {view.behind_bytes} bytes of the log"
        )
    return (
        f"the member has caught up, and the master, member {lease.holder}, has not added it to the"
        " in-sync set yet"
    )


def _last_holder(lease: Lease) -> str:
    if lease.holder != NO_MEMBER:
        return f"member {lease.holder} did not renew the Lease of epoch {lease.epoch}"
    if lease.epoch:
        return f"the master of epoch {lease.epoch} released the Lease"
    return "it has had no master yet"


def _last_event(view: MemberView) -> str:
    return f"; {view.last_log_line}" if view.last_log_line else ""


def store_reason(trouble: str | None, dispatch_behind: int) -> str | None:
    """Why the store keeps a broker of any role from being ready; None if it does not."""
    if trouble is not None:
        return f"the disk accepts no messages: {trouble}"
    if dispatch_behind > DISPATCH_BEHIND_BYTES_MAX:
        return f"queues and index are {dispatch_behind} bytes behind the log"
    return None


def _names(members: frozenset[int]) -> str:
    return f"{len(members)} ({', '.join(map(str, sorted(members)))})"
