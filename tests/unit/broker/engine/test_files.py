"""Tests when the broker's files are written, held back, and written again after a failure."""

from __future__ import annotations

from gantrymq.broker.core.engine.files import RETRY_SECONDS, Files
from gantrymq.broker.core.messages import File, SaveFile


def kept() -> tuple[Files, list[bytes]]:
    files, contents = Files(), [b"first"]
    files.keep(File.TOPICS, lambda: contents[-1])
    return files, contents


def test_nothing_is_written_before_it_is_due() -> None:
    files, _ = kept()
    assert files.take_due(100.0) == []
    files.touch(File.TOPICS, 5.0)
    assert files.deadline() == 5.0
    assert files.take_due(4.9) == []
    assert files.take_due(5.0) == [SaveFile(File.TOPICS, b"first")]


def test_change_during_a_write_is_saved_by_the_next_write() -> None:
    files, contents = kept()
    files.touch(File.TOPICS)
    assert files.take_due(0.0) == [SaveFile(File.TOPICS, b"first")]
    contents.append(b"second")
    files.touch(File.TOPICS)
    assert files.take_due(0.0) == []
    files.written(File.TOPICS, None)
    assert files.take_due(0.0) == [SaveFile(File.TOPICS, b"second")]


def test_waiter_is_told_by_a_write_that_began_after_it() -> None:
    files, _ = kept()
    files.touch(File.TOPICS)
    files.take_due(0.0)
    files.wait(File.TOPICS, 7)
    assert files.written(File.TOPICS, None) == []
    files.take_due(0.0)
    assert files.written(File.TOPICS, None) == [7]


def test_failed_write_is_reported_and_retried() -> None:
    files, _ = kept()
    files.wait(File.TOPICS, 7)
    files.take_due(10.0)
    assert files.written(File.TOPICS, "no space") == [7]
    assert files.deadline() == 10.0 + RETRY_SECONDS
    assert files.take_due(10.0 + RETRY_SECONDS) == [SaveFile(File.TOPICS, b"first")]


def test_stop_writes_changed_files_before_they_are_due() -> None:
    files, _ = kept()
    files.keep(File.GROUPS, lambda: b"groups")
    files.touch(File.TOPICS, 1000.0)
    assert files.take_due(0.0, all_touched=True) == [SaveFile(File.TOPICS, b"first")]


def test_held_file_is_written_when_all_holds_are_released() -> None:
    files, _ = kept()
    files.hold(File.TOPICS, File.GROUPS)
    files.hold(File.TOPICS, File.GROUPS)
    files.touch(File.TOPICS)
    assert files.deadline() == float("inf")
    assert files.take_due(1.0, all_touched=True) == []
    files.release(File.TOPICS, File.GROUPS)
    assert files.take_due(1.0) == []
    files.release(File.TOPICS, File.GROUPS)
    assert files.deadline() == 0.0
    assert files.take_due(1.0) == [SaveFile(File.TOPICS, b"first")]


def test_waiter_for_a_held_file_learns_why_the_file_before_it_failed() -> None:
    files, _ = kept()
    files.keep(File.GROUPS, lambda: b"groups")
    files.hold(File.TOPICS, File.GROUPS)
    files.wait(File.TOPICS, 7)
    files.wait(File.GROUPS, 8)
    assert files.take_due(10.0) == [SaveFile(File.GROUPS, b"groups")]
    assert files.written(File.GROUPS, "no space") == [8, 7]
    files.wait(File.TOPICS, 9)
    files.take_due(10.0 + RETRY_SECONDS)
    assert files.written(File.GROUPS, None) == []
    files.release(File.TOPICS, File.GROUPS)
    assert files.take_due(20.0) == [SaveFile(File.TOPICS, b"first")]
    assert files.written(File.TOPICS, None) == [9]
