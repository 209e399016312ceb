"""The figures of a member, as Prometheus reads them."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.broker.metrics.member import MemberFigures, samples
from gantrymq.fakes.metrics import values_of

FIGURES = MemberFigures(
    seen_epoch=7,
    led_epoch=7,
    in_sync=2,
    lease_age_seconds=0.4,
    is_lease_unreadable=False,
    is_lease_untrusted=False,
    ignored_wishes=1,
    is_disk_foreign=False,
    seat_conflicts=1,
    is_slice_unpublished=False,
    foreign_slices=3,
)


def shown(figures: MemberFigures) -> dict[str, float]:
    values = values_of(samples(figures, base=""))
    return {name.removeprefix("gantry_broker_"): value for name, value in values.items()}


def test_a_master_shows_its_epoch_its_lease_and_its_service() -> None:
    assert shown(FIGURES) == {
        "epoch": 7,
        "led_epoch": 7,
        "in_sync_members": 2,
        "lease_age_seconds": 0.4,
        "lease_unreadable": 0,
        "lease_doubted": 0,
        "ignored_wishes": 1,
        "disk_foreign": 0,
        "seat_conflicts": 1,
        "slice_unpublished": 0,
        "foreign_slices": 3,
        "foreign_slices_unknown": 0,
    }


def test_slices_that_may_not_be_listed_are_unknown_and_not_none() -> None:
    found = shown(replace(FIGURES, foreign_slices=None))
    assert found["foreign_slices_unknown"] == 1
    assert "foreign_slices" not in found


def test_a_follower_shows_nothing_of_the_service() -> None:
    follower = replace(FIGURES, led_epoch=0, is_slice_unpublished=None, foreign_slices=None)
    assert not {name for name in shown(follower) if "slice" in name}


def test_a_lease_that_was_not_read_has_no_in_sync_set() -> None:
    assert "in_sync_members" not in shown(replace(FIGURES, in_sync=None))
