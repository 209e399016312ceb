"""The slave's end: what it reports, what it hands on, what it refuses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.ha.classic.frames import encode_head, encode_report
from gantrymq.ha.classic.log_receiver import LogReceiver
from gantrymq.ha.protocol.events import Copied, Ended, Ending
from gantrymq.ha.settings import HaSettings

HA = HaSettings()


def frame(position: int, data: bytes = b"") -> bytes:
    return encode_head(position, len(data)) + data


def following(end: int = 100) -> LogReceiver:
    link = LogReceiver(end, HA, 0.0, is_empty=not end)
    link.take_output()
    return link


def test_the_first_report_leaves_at_once() -> None:
    assert LogReceiver(100, HA, 0.0, is_empty=False).take_output() == [encode_report(100)]
    assert LogReceiver(4096, HA, 0.0, is_empty=True).take_output() == [encode_report(0)]


def test_consecutive_data_frames_are_passed_on_as_one() -> None:
    link = following()
    data = frame(100, b"abc") + frame(103) + frame(103, b"de")
    assert link.receive(data, 1.0) == [Copied(100, b"abcde")]
    assert link.receive(frame(105), 1.0) == []


def test_each_append_is_reported_once() -> None:
    link = following()
    link.appended(105, 1.0)
    link.appended(105, 1.0)
    assert link.take_output() == [encode_report(105)]


def test_an_empty_log_begins_where_the_master_does() -> None:
    link = following(0)
    assert link.receive(frame(8192), 1.0) == []
    assert link.receive(frame(8192, b"ab"), 1.0) == [Copied(8192, b"ab")]


def test_another_log_ends_the_connection() -> None:
    for position in (99, 101, 0):
        for data in (b"", b"abc"):
            link = following()
            (ended,) = link.receive(frame(position, data), 1.0)
            assert isinstance(ended, Ended)
            assert ended.ending is Ending.DIVERGED
            assert link.receive(frame(100, b"abc"), 2.0) == ()


def test_what_came_before_a_wrong_frame_is_kept() -> None:
    copied, ended = following().receive(frame(100, b"abc") + frame(104, b"d"), 1.0)
    assert copied == Copied(100, b"abc")
    assert isinstance(ended, Ended)


@given(st.binary(min_size=12, max_size=100))
def test_garbage_is_not_handed_on(data: bytes) -> None:
    link = following(1 << 60)
    assert not [event for event in link.receive(data, 1.0) if isinstance(event, Copied)]


def test_heartbeats_are_sent_and_silence_ends_the_connection() -> None:
    link = following()
    assert link.deadline() == 5.0
    assert not link.expire(5.0)
    assert link.take_output() == [encode_report(100)]
    link.receive(frame(100), 6.0)
    assert link.deadline() == 10.0
    assert not link.expire(25.0)
    (ended,) = link.expire(26.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT


@given(st.lists(st.binary(max_size=40), max_size=10), st.lists(st.integers(0, 50), max_size=20))
def test_frames_may_be_cut_anywhere(bodies: list[bytes], sizes: list[int]) -> None:
    position, data = 100, b""
    for body in bodies:
        data += frame(position, body)
        position += len(body)
    link = following()
    copied = b""
    for size in [*sizes, len(data)]:
        for event in link.receive(data[:size], 1.0):
            assert isinstance(event, Copied)
            assert event.position == 100 + len(copied)
            copied += event.data
        data = data[size:]
    assert copied == b"".join(bodies)


def test_the_rate_is_that_of_the_last_second() -> None:
    link = following()
    link.receive(frame(100, bytes(500)), 1.5)
    assert link.bytes_per_second(1.9) == 0
    assert link.bytes_per_second(2.1) == 500
    assert link.bytes_per_second(4.0) == 0
