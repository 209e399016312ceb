"""Which pulls of a bulk read are under way, and what is asked for next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.client.bulk.windows import COUNT_MAX, Windows


def ranges(windows: Windows) -> list[tuple[int, int]]:
    """Those that are due; they are sent."""
    due = windows.due()
    for number, window in enumerate(due):
        window.ticket = number
    return [(window.start, window.end) for window in due]


def test_first_pull_is_alone_because_nothing_is_known_yet() -> None:
    windows = Windows(10, 100_000, 3, is_filtered=False)
    assert ranges(windows) == [(10, 10 + COUNT_MAX)]
    assert ranges(windows) == []


def test_answer_says_how_large_the_next_windows_are() -> None:
    windows = Windows(0, 10_000, 3, is_filtered=False)
    ranges(windows)
    windows.answered(32)
    assert ranges(windows) == [(32, COUNT_MAX), (4096, 4128), (4128, 4160)]


def test_gap_is_asked_for_before_anything_else() -> None:
    windows = Windows(0, 200, 2, is_filtered=False)
    ranges(windows)
    windows.answered(100)
    assert ranges(windows) == [(100, 200)]
    windows.answered(130)
    assert ranges(windows) == [(130, 200)]


def test_range_ends_exactly_at_its_end() -> None:
    windows = Windows(5, 8, 4, is_filtered=False)
    assert ranges(windows) == [(5, 8)]
    windows.answered(8)
    assert ranges(windows) == []
    assert windows.is_done


def test_empty_range_is_done_at_once() -> None:
    assert Windows(5, 5, 2, is_filtered=False).is_done


def test_filtered_read_has_one_pull_under_way() -> None:
    windows = Windows(0, 10_000, 4, is_filtered=True)
    assert ranges(windows) == [(0, COUNT_MAX)]
    windows.answered(6000)
    assert ranges(windows) == [(6000, 10_000)]


def test_restart_asks_for_everything_that_was_not_answered() -> None:
    windows = Windows(0, 300, 3, is_filtered=False)
    ranges(windows)
    windows.answered(50)
    assert windows.due()
    windows.restart()
    assert not windows.is_waiting
    assert ranges(windows)[0][0] == 50


def test_windows_grow_after_many_full_answers_and_stay_bounded() -> None:
    windows = Windows(0, 1 << 30, 1, is_filtered=False)
    ranges(windows)
    windows.answered(100)
    windows.restart()  # what was left of the first window
    sizes = []
    for _ in range(2000):
        ((start, end),) = ranges(windows)
        sizes.append(end - start)
        windows.answered(end)
    assert sizes[0] == 100
    assert sizes == sorted(sizes)
    assert sizes[-1] == COUNT_MAX


@given(
    st.integers(0, 1000),
    st.integers(0, 20_000),
    st.integers(1, 5),
    st.booleans(),
    st.data(),
)
def test_every_message_is_asked_for_once_and_in_order(
    start: int, count: int, depth: int, is_filtered: bool, data: st.DataObject
) -> None:
    end = start + count
    windows = Windows(start, end, depth, is_filtered=is_filtered)
    reached = start
    while not windows.is_done:
        for window in windows.due():
            window.ticket = 0
        head = windows.head
        assert head.start == reached
        assert head.end <= end
        if data.draw(st.integers(0, 9)) == 0:
            windows.restart()
            continue
        reached = min(end, head.start + data.draw(st.integers(1, 5000)))
        if not is_filtered:
            reached = min(reached, head.end)
        windows.answered(reached)
    assert reached == end
