"""Collects the state of a member for its metrics."""

from __future__ import annotations

from gantrymq.broker.member.lease_client import LeaseClient
from gantrymq.broker.member.slice_keeper import SliceKeeper
from gantrymq.broker.metrics.member import MemberFigures
from gantrymq.ha.member.member import Member


def figures_of(
    member: Member, lease: LeaseClient, slices: SliceKeeper | None, now: float
) -> MemberFigures:
    """The current values; `now` is by the clock of the event loop."""
    known = member.elector.lease
    keeper = slices if member.epoch and slices is not None else None
    foreign = None if keeper is None else keeper.survey.foreign
    return MemberFigures(
        member.seen_epoch,
        member.epoch,
        in_sync=None if known is None else len(known.in_sync),
        lease_age_seconds=now - lease.answered_at,
        is_lease_unreadable=lease.failure is not None,
        is_lease_untrusted=known is not None and known.untrusted_reason is not None,
        ignored_wishes=len(lease.ignored),
        is_disk_foreign=member.is_foreign,
        seat_conflicts=len(member.conflicts(now)) if member.epoch else None,
        is_slice_unpublished=None if keeper is None else keeper.unpublished is not None,
        foreign_slices=None if foreign is None else len(foreign),
    )
