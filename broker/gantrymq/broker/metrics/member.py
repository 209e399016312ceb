"""The metrics of a member of a group that elects its master."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker as table


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


def samples(figures: MemberFigures, base: str) -> Iterator[Samples]:
    """A metric for each value that is known."""
    unpublished, foreign = figures.is_slice_unpublished, figures.foreign_slices
    for family, value in (
        (table.EPOCH, figures.seen_epoch),
        (table.LED_EPOCH, figures.led_epoch),
        (table.IN_SYNC_MEMBERS, figures.in_sync),
        (table.LEASE_AGE, figures.lease_age_seconds),
        (table.LEASE_UNREADABLE, figures.is_lease_unreadable),
        (table.LEASE_DOUBTED, figures.is_lease_doubted),
        (table.IGNORED_WISHES, figures.ignored_wishes),
        (table.DISK_FOREIGN, figures.is_disk_foreign),
        (table.SEAT_CONFLICTS, figures.seat_conflicts),
        (table.SLICE_UNPUBLISHED, unpublished),
        (table.FOREIGN_SLICES, foreign),
        (table.FOREIGN_SLICES_UNKNOWN, None if unpublished is None else foreign is None),
    ):
        if value is not None:
            yield one(family, value, base)
