"""Tests how much time of a turn reads may take, and how excess is paid back."""

from __future__ import annotations

from gantrymq.store.read.work_meter import DEBT_SECONDS_MAX, TURN_SECONDS, WorkMeter


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 7.0

    def __call__(self) -> float:
        return self.now


def worked(meter: WorkMeter, clock: Hand, seconds: float) -> None:
    meter.begin()
    clock.now += seconds
    meter.lap()


def test_time_outside_of_pieces_of_work_does_not_count() -> None:
    clock = Hand()
    meter = WorkMeter(clock)
    meter.begin()
    meter.lap()
    clock.now += 60
    assert meter.begin() == 67.0
    assert meter.left == TURN_SECONDS


def test_a_share_that_is_used_up_comes_back_with_the_next_turn() -> None:
    clock = Hand()
    meter = WorkMeter(clock)
    worked(meter, clock, TURN_SECONDS * 1.5)
    assert meter.left < 0
    meter.refill()
    assert 0 < meter.left < TURN_SECONDS
    meter.refill()
    assert meter.left == TURN_SECONDS


def test_long_piece_is_paid_back_by_the_following_turns() -> None:
    clock = Hand()
    meter = WorkMeter(clock)
    worked(meter, clock, TURN_SECONDS * 11)
    for _ in range(10):
        assert meter.left <= 1e-9
        meter.refill()
    meter.refill()
    assert meter.left > 0


def test_debt_of_a_stopped_process_is_bounded() -> None:
    clock = Hand()
    meter = WorkMeter(clock)
    worked(meter, clock, 3600.0)
    assert meter.left == -DEBT_SECONDS_MAX
    assert meter.used == 3600.0


def test_a_clock_that_stands_never_uses_up_the_share() -> None:
    meter = WorkMeter()
    meter.begin()
    meter.lap()
    assert meter.left == TURN_SECONDS
