"""Stretches of the timer queue: what is done with, and what has to be rolled."""

from __future__ import annotations

from gantrymq.broker.core.schedule.timer_spans import SPAN_MS_MIN, TimerSpans

DAY_MS = 86_400_000


def filled(count: int) -> TimerSpans:
    """A stretch of 100 messages each ten minutes."""
    spans = TimerSpans(roll_ms=SPAN_MS_MIN * 10)
    for number in range(count * 100):
        spans.add(number, number // 100 * SPAN_MS_MIN, waits=True)
    return spans


def test_nothing_waits_below_low() -> None:
    spans = filled(3)
    for offset in range(50, 150):
        spans.done(offset)
    assert spans.low(300) == 0
    for offset in range(50):
        spans.done(offset)
    assert spans.low(300) == 100
    for offset in range(150, 300):
        spans.done(offset)
    assert spans.low(300) == 300


def test_old_span_is_rolled_once() -> None:
    spans = filled(3)
    assert spans.next_roll(SPAN_MS_MIN * 10 - 1, 300) is None
    assert spans.next_roll(SPAN_MS_MIN * 10, 300) == 100
    assert spans.next_roll(SPAN_MS_MIN * 10, 300) is None
    assert spans.next_roll(SPAN_MS_MIN * 11, 300) == 200


def test_the_age_at_which_they_are_rolled_may_change() -> None:
    spans = filled(6)
    assert spans.next_roll(SPAN_MS_MIN * 8, 600) is None
    spans.roll_after(SPAN_MS_MIN * 5)
    assert spans.next_roll(SPAN_MS_MIN * 6, 600) == 100
    assert spans.next_roll(SPAN_MS_MIN * 6, 600) == 200
    assert spans.next_roll(SPAN_MS_MIN * 6, 600) is None


def test_the_last_stretch_is_rolled_too_and_then_closed() -> None:
    spans = filled(1)
    assert spans.next_roll(SPAN_MS_MIN * 10, 100) == 100
    spans.add(100, 0, waits=True)
    for offset in range(100):
        spans.done(offset)
    assert spans.low(101) == 100


def test_a_stretch_where_little_waits_is_rolled_early() -> None:
    spans = filled(2)
    for offset in range(94):
        spans.done(offset)
    assert spans.next_roll(SPAN_MS_MIN - 1, 200) is None
    assert spans.next_roll(SPAN_MS_MIN, 200) == 100


def test_a_lonely_message_is_not_rolled_again_and_again() -> None:
    spans = TimerSpans(roll_ms=DAY_MS)
    spans.add(0, 0, waits=True)
    assert spans.next_roll(DAY_MS - 1, 1) is None
