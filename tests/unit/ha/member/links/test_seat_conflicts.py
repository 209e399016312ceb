"""Which refusals of a second process in a seat a master reports."""

from __future__ import annotations

from gantrymq.ha.member.links.seat_conflicts import LASTING_SECONDS, OVER_SECONDS, SeatConflicts


def refused_each_second(conflicts: SeatConflicts, seat: int, begin: float, end: float) -> None:
    now = begin
    while now <= end:
        conflicts.refused(seat, f"seat {seat}", now)
        now += 1.0


def test_a_new_disk_that_is_refused_for_a_moment_is_no_conflict() -> None:
    conflicts = SeatConflicts()
    refused_each_second(conflicts, 2, 0.0, LASTING_SECONDS - 1.0)
    assert conflicts.lasting(LASTING_SECONDS) == []


def test_a_process_that_is_refused_for_longer_is_a_conflict_until_it_stays_away() -> None:
    conflicts = SeatConflicts()
    refused_each_second(conflicts, 2, 0.0, LASTING_SECONDS)
    assert conflicts.lasting(LASTING_SECONDS) == ["seat 2"]
    assert conflicts.lasting(LASTING_SECONDS + OVER_SECONDS - 0.1) == ["seat 2"]
    assert conflicts.lasting(LASTING_SECONDS + OVER_SECONDS) == []


def test_later_conflict_in_the_same_seat_starts_over() -> None:
    conflicts = SeatConflicts()
    refused_each_second(conflicts, 2, 0.0, LASTING_SECONDS)
    later = LASTING_SECONDS + OVER_SECONDS
    conflicts.refused(2, "seat 2", later)
    assert conflicts.lasting(later) == []


def test_conflicts_are_reported_by_seat() -> None:
    conflicts = SeatConflicts()
    for seat in (3, 1):
        refused_each_second(conflicts, seat, 0.0, LASTING_SECONDS)
    assert conflicts.lasting(LASTING_SECONDS) == ["seat 1", "seat 3"]


def test_conflict_has_to_be_logged_once_while_it_lasts() -> None:
    conflicts = SeatConflicts()
    refused_each_second(conflicts, 2, 0.0, LASTING_SECONDS)
    assert conflicts.unlogged(LASTING_SECONDS) == ["seat 2"]
    refused_each_second(conflicts, 2, LASTING_SECONDS, 2 * LASTING_SECONDS)
    assert conflicts.unlogged(2 * LASTING_SECONDS) == []
