"""Progress is told when the log has it on disk, in order."""

from __future__ import annotations

from gantrymq.broker.core.schedule.durable_progress import NOTES_MAX, DurableProgress


def test_a_place_is_safe_when_the_log_is_flushed_behind_its_messages() -> None:
    progress = DurableProgress(0)
    progress.note(1, 100)
    progress.note(2, 200)
    assert progress.latest == 2
    assert progress.safe(99) == 0
    assert progress.safe(100) == 1
    assert not progress.is_safe
    assert progress.safe(500) == 2
    assert progress.is_safe


def test_notes_are_bounded_and_never_ahead_of_the_disk() -> None:
    progress = DurableProgress(0)
    for number in range(1, 10 * NOTES_MAX):
        progress.note(number, number * 10)
    for flushed in range(0, 10 * NOTES_MAX * 10, 7):
        assert progress.safe(flushed) <= flushed // 10
    assert progress.safe(10 * NOTES_MAX * 10) == 10 * NOTES_MAX - 1
