"""Tests that work which holds the event loop too long is counted by its name."""

from __future__ import annotations

from gantrymq.base.stalls import NAMES_MAX, OTHER, STALL_SECONDS, StallWatch


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_only_work_that_took_too_long_is_counted_by_its_name() -> None:
    time = Time()
    stalls = StallWatch(time)
    reported: list[tuple[str, str, float]] = []
    stalls.report = lambda work, peer, seconds: reported.append((work, peer, seconds))

    began = stalls.now()
    time.now += STALL_SECONDS / 2
    began = stalls.ended(began, "short")
    time.now += STALL_SECONDS
    stalls.ended(began, "long", "10.0.0.1:1")

    assert dict(stalls.counts) == {"long": 1}
    assert [(work, peer) for work, peer, _ in reported] == [("long", "10.0.0.1:1")]
    assert stalls.seconds == stalls.seconds_of["long"] >= STALL_SECONDS


def test_names_are_bounded() -> None:
    stalls = StallWatch()

    for number in range(NAMES_MAX + 10):
        stalls.note(f"work {number}", "", 1.0)

    assert stalls.counts[OTHER] == 10
    assert len(stalls.counts) == NAMES_MAX + 1


def test_a_clock_that_stands_still_finds_no_stalls() -> None:
    stalls = StallWatch()

    stalls.ended(stalls.now(), "anything")

    assert not stalls.counts
