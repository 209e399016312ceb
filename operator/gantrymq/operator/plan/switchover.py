"""Asks the master of a group to hand over, by annotations on the group's Lease."""

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
"""Each change of a Lease may delay a failover, so a switchover that failed is not repeated at
once."""


def switch(
    lease: GroupLease, group: Group, member: int, reason: str, now: float, *, preferred: int = 0
) -> AnnotateLease:
    """Ask for a switchover to a member, and let `preferred` be preferred from now on, if given."""
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
    """Whether the last switchover was asked for too short a time ago for another one. A time in
    the future counts as none: a clock was wrong, and waiting for it may take years."""
    return lease.switch_at <= now < lease.switch_at + RETRY_SECONDS


def prefer(lease: GroupLease, group: Group, member: int, reason: str) -> AnnotateLease:
    """Let a member be preferred where several may become master."""
    return AnnotateLease(
        group.lease_ref,
        lease.resource_version,
        {PREFERRED: str(member)},
        reason,
        expected=lease.grounds,
    )
