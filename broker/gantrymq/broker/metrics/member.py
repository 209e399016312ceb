"""Reads the metrics of a broker that is a member of a group which elects its master."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker as table


@final
@dataclass(frozen=True, slots=True)
class MemberFigures:
    """The state of one member at one moment."""

    seen_epoch: int
    led_epoch: int
    """The epoch in which this member is master; 0 while it is not."""
    in_sync: int | None
    """The number of in-sync members that the Lease names; None before it is read."""
    lease_age_seconds: float
    """The time since the API last answered about the Lease."""
    is_lease_unreadable: bool
    is_lease_untrusted: bool
    ignored_wishes: int
    is_disk_foreign: bool
    seat_conflicts: int | None
    """Member numbers that two processes claim; None while this member is not master."""
    is_slice_unpublished: bool | None
    """Whether this master failed to write its EndpointSlice; None if it writes none."""
    foreign_slices: int | None
    """The number of EndpointSlices of the Service that are not this master's; None if unknown."""


def samples(figures: MemberFigures, base: str) -> Iterator[Samples]:
    """One metric for each value that is known."""
    unpublished, foreign = figures.is_slice_unpublished, figures.foreign_slices
    for family, value in (
        (table.EPOCH, figures.seen_epoch),
        (table.LED_EPOCH, figures.led_epoch),
        (table.IN_SYNC_MEMBERS, figures.in_sync),
        (table.LEASE_AGE, figures.lease_age_seconds),
        (table.LEASE_UNREADABLE, figures.is_lease_unreadable),
        (table.LEASE_DOUBTED, figures.is_lease_untrusted),
        (table.IGNORED_WISHES, figures.ignored_wishes),
        (table.DISK_FOREIGN, figures.is_disk_foreign),
        (table.SEAT_CONFLICTS, figures.seat_conflicts),
        (table.SLICE_UNPUBLISHED, unpublished),
        (table.FOREIGN_SLICES, foreign),
        (table.FOREIGN_SLICES_UNKNOWN, None if unpublished is None else foreign is None),
    ):
        if value is not None:
            yield one(family, value, base)
