"""The figures of a member of a group that elects its master, as Prometheus families.

`figures_of` takes the values of one moment from the parts of a member, `families` shows them.
RocketMQ has no metrics of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from prometheus_client.core import GaugeMetricFamily, Metric

from gantrymq.broker.lease_client import LeaseClient
from gantrymq.broker.metrics import PREFIX
from gantrymq.broker.slice_keeper import SliceKeeper
from gantrymq.ha.member import Member


@final
@dataclass(frozen=True, slots=True)
class MemberFigures:
    """What a member counts at one moment."""

    seen_epoch: int
    led_epoch: int
    """0 while this member is not master."""
    in_sync: int | None
    """Members in the set of the Lease; None while it was not read."""
    lease_age_seconds: float
    """Since the API answered about the Lease."""
    is_lease_unreadable: bool
    is_lease_doubted: bool
    ignored_wishes: int
    is_disk_foreign: bool
    seat_conflicts: int | None
    """Seats that two processes claim; None where this member is not master."""
    is_slice_unpublished: bool | None
    """None where this member leads no Service anywhere."""
    foreign_slices: int | None
    """None while they are not known."""


def figures_of(
    member: Member, lease: LeaseClient, slices: SliceKeeper | None, now: float
) -> MemberFigures:
    """The values of this moment; `now` is by the clock of the event loop."""
    known = member.agent.lease
    keeper = slices if member.epoch and slices is not None else None
    foreign = None if keeper is None else keeper.survey.foreign
    return MemberFigures(
        member.seen_epoch,
        member.epoch,
        in_sync=None if known is None else len(known.in_sync),
        lease_age_seconds=now - lease.answered_at,
        is_lease_unreadable=lease.failure is not None,
        is_lease_doubted=known is not None and known.doubt is not None,
        ignored_wishes=len(lease.ignored),
        is_disk_foreign=member.is_foreign,
        seat_conflicts=len(member.conflicts(now)) if member.epoch else None,
        is_slice_unpublished=None if keeper is None else keeper.unpublished is not None,
        foreign_slices=None if foreign is None else len(foreign),
    )


def families(figures: MemberFigures) -> Iterable[Metric]:
    """A gauge for each value that is known."""
    for name, about, value in (
        ("epoch", "The highest epoch of the group that this member has seen", figures.seen_epoch),
        ("led_epoch", "The epoch in which this member is master; 0: it is not", figures.led_epoch),
        ("in_sync_members", "Members in the in-sync set of the group's Lease", figures.in_sync),
        ("lease_age_seconds", "Seconds since the API answered about the group's Lease",
         figures.lease_age_seconds),
        ("lease_unreadable", "Whether the last request about the group's Lease failed",
         figures.is_lease_unreadable),
        ("lease_doubted", "Whether the group's Lease was edited, set back, deleted or damaged",
         figures.is_lease_doubted),
        ("ignored_wishes", "Annotations of the group's Lease that cannot be read and are left out",
         figures.ignored_wishes),
        ("disk_foreign", "Whether the disk of this member belongs to another group",
         figures.is_disk_foreign),
        ("seat_conflicts", "Seats of the group that two processes claim, as the master sees it",
         figures.seat_conflicts),
        ("slice_unpublished", "Whether the master could not lead the group's Service to itself",
         figures.is_slice_unpublished),
        ("foreign_slices", "Other EndpointSlices of the group's Service, as the master lists them",
         figures.foreign_slices),
        ("foreign_slices_unknown", "Whether the master may not, or could not, list EndpointSlices",
         None if figures.is_slice_unpublished is None else figures.foreign_slices is None),
    ):  # fmt: skip
        if value is not None:
            yield GaugeMetricFamily(PREFIX + name, about, value)
