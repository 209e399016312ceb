"""Requests switchovers and preferred masters, by annotations on a group's Lease."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import AnnotateLease
from gantrymq.operator.plan.view.lease import (
    PREFERRED,
    SWITCH_AT,
    SWITCH_NUMBER,
    SWITCH_TO,
    GroupLease,
)
from gantrymq.operator.plan.view.members import Group

RETRY_SECONDS: Final = 60
"""How long to wait before repeating a failed switchover. Each change of a Lease may delay a
failover."""


def switch(
    lease: GroupLease, group: Group, member: int, reason: str, now: float, *, preferred: int = 0
) -> AnnotateLease:
    """Request a switchover to a member, and make `preferred` the preferred master, if given."""
    assert member in group.in_sync - lease.fenced
    annotations = {
        SWITCH_TO: str(member),
        SWITCH_NUMBER: str(max(lease.switch_number, lease.granted) + 1),
        SWITCH_AT: str(int(now)),
    }
    if preferred:
        annotations[PREFERRED] = str(preferred)
    return AnnotateLease(
        group.lease_ref,
        lease.resource_version,
        annotations,
        reason,
        is_disruptive=True,
        expected=lease.grounds,
    )


def was_asked_lately(lease: GroupLease, now: float) -> bool:
    """Whether the last switchover was requested less than RETRY_SECONDS ago. A time in the future
    does not count: it comes from a wrong clock, and waiting for it might take years."""
    return lease.switch_at <= now < lease.switch_at + RETRY_SECONDS


def prefer(lease: GroupLease, group: Group, member: int, reason: str) -> AnnotateLease:
    """Make a member the preferred master, if several may become master."""
    return AnnotateLease(
        group.lease_ref,
        lease.resource_version,
        {PREFERRED: str(member)},
        reason,
        expected=lease.grounds,
    )
