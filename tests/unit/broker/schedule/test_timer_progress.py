"""What of the timer queue is done with: never less than was said, and never more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.schedule.timer_progress import MARKS_MAX, TimerProgress
from gantrymq.wire import javajson

small = st.integers(0, 12)
marks = st.lists(st.tuples(small, small), max_size=MARKS_MAX)
messages = [(offset, second) for offset in range(13) for second in range(13)]


@given(marks)
def test_only_delivered_messages_are_done(
    said: list[tuple[int, int]],
) -> None:
    place = TimerProgress(delivered=-1)
    for taken, second in said:
        place = place.come_to(second, 0, taken)
    for offset, second in messages:
        is_said = any(offset < taken and second <= until for taken, until in said)
        assert place.is_done(offset, second) is is_said


@given(marks)
def test_only_rolled_messages_are_done(said: list[tuple[int, int]]) -> None:
    place = TimerProgress(delivered=-1)
    for below, start in said:
        place = place.rolled_below(below, start, second=-1)
    for offset, second in messages:
        is_said = any(offset < below and second >= start for below, start in said)
        assert place.is_done(offset, second) is is_said


def test_the_last_that_was_taken_is_what_files_of_before_say() -> None:
    place = TimerProgress(900, 3, 40).come_to(700, 3, 50)
    assert place == TimerProgress(700, 3, 50, earlier=((40, 900),))
    assert place.come_to(900, 3, 60) == TimerProgress(900, 3, 60)


def test_a_second_look_from_the_start_takes_nothing_back() -> None:
    place = TimerProgress(900, 3, 40)
    assert place.come_to(900, 3, 10) == place


def test_rolls_count_as_long_as_something_between_them_can_wait() -> None:
    place = TimerProgress().rolled_below(10, 400, 100).rolled_below(20, 460, 160)
    assert place.rolled == ((10, 400), (20, 460))
    assert place.rolled_below(30, 700, 459).rolled == ((10, 400), (20, 460), (30, 700))
    assert place.rolled_below(30, 700, 460).rolled == ((20, 460), (30, 700))


def test_marks_below_the_low_offset_are_removed() -> None:
    place = TimerProgress(700, 0, 50, earlier=((40, 900),), rolled=((10, 400), (30, 460)))
    assert place.come_to(701, 10, 50).rolled == ((30, 460),)
    assert place.come_to(701, 40, 50) == TimerProgress(701, 40, 50)


def test_marks_beyond_the_queue_are_of_a_log_that_was_emptied() -> None:
    place = TimerProgress(700, 5, 50, earlier=((40, 900),), rolled=((10, 400), (45, 460)))
    assert place.within(0, 50) == place
    assert place.within(0, 20) == TimerProgress(
        700, 5, 20, earlier=((20, 900),), rolled=((10, 400),)
    )
    assert place.within(0, 0) == TimerProgress(700, 0, 0, earlier=((0, 900),))


def test_waiting_messages_that_the_queue_lost_are_missing() -> None:
    place = TimerProgress(700, 5, 50)
    assert [place.missing(*queue) for queue in ((0, 60), (5, 50), (20, 60), (60, 60))] == [
        *(0, 0),
        *(15, 55),
    ]
    assert [place.missing(*queue) for queue in ((0, 40), (0, 0), (20, 40))] == [10, 45, 25]
    assert place.within(20, 60) == TimerProgress(700, 20, 50)


def test_a_place_that_was_never_written_misses_nothing() -> None:
    assert TimerProgress().missing(20, 60) == 0
    assert TimerProgress().within(20, 60) == TimerProgress(low=20)


def test_it_is_read_as_it_is_written() -> None:
    for place in (
        TimerProgress(),
        TimerProgress(700, 5, 50),
        TimerProgress(700, 5, 50, earlier=((40, 900),), rolled=((10, 400), (45, 460))),
    ):
        assert TimerProgress.decode(javajson.dumps_pretty(place.bean())) == place
    assert "rolled" not in TimerProgress(700, 5, 50).bean()


@pytest.mark.parametrize(
    "text", ["[]", '{"rolled":7}', '{"rolled":[7]}', '{"rolled":[[1]]}', '{"earlier":[["a",1]]}']
)
def test_malformed_progress_file_is_refused(text: str) -> None:
    with pytest.raises(RemoteError):
        TimerProgress.decode(text.encode())
