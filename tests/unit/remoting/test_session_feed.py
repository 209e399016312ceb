"""Tests frames that the owner consumes before they become commands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.remoting.events import Requests
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.session import Session
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode, frame_length

SEND = 310
OTHER = 34


class Taker:
    """Takes whole frames of sends, up to the first of anything else."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.opaques: list[int] = []

    def feed(self, data: bytes, start: int, now: float) -> int:
        assert now == 0.0
        at, count = start, 0
        while len(data) - at >= 8:
            length = int(frame_length(data, at, 1 << 20, 1 << 20))
            commands = Session(SessionLimits(), 0.0).receive(data[at : at + length], 0.0)
            if len(data) - at < length or not commands:
                break
            assert isinstance(commands[0], Requests)
            command = commands[0].commands[0]
            if command.code != SEND:
                break
            self.opaques.append(command.opaque)
            at += length
            count += 1
        if count:
            self.session.taken(count, at - start)
        return at


def frames(codes: list[int]) -> bytes:
    return b"".join(
        encode(Command(code, opaque=opaque, body=b"b" * (opaque % 5)))
        for opaque, code in enumerate(codes)
    )


@given(
    st.lists(st.sampled_from([SEND, SEND, OTHER]), max_size=12),
    st.lists(st.integers(1, 90), min_size=1, max_size=8),
)
def test_each_request_comes_once_and_in_order_for_every_cut(
    codes: list[int], cuts: list[int]
) -> None:
    session = Session(SessionLimits(), 0.0)
    taker = Taker(session)
    data = frames(codes)
    seen: list[int] = []
    at = number = 0
    while at < len(data):
        size = cuts[number % len(cuts)]
        number += 1
        for event in session.receive(data[at : at + size], 0.0, taker.feed):
            assert isinstance(event, Requests)
            seen += taker.opaques
            taker.opaques.clear()
            seen += [command.opaque for command in event.commands]
        seen += taker.opaques
        taker.opaques.clear()
        at += size
    assert seen == list(range(len(codes)))
    assert session.requests_in == len(codes)


def test_consumed_frames_count_until_they_are_answered() -> None:
    session = Session(SessionLimits(requests_in_max=2), 0.0)
    taker = Taker(session)
    data = frames([SEND, SEND])
    assert session.receive(data, 0.0, taker.feed) == []
    assert session.is_saturated
    session.respond_taken(2, len(data), b"replies")
    assert session.has_room
    assert session.take_output() == [b"replies"]


def test_draining_session_consumes_no_frames() -> None:
    session = Session(SessionLimits(), 0.0)
    taker = Taker(session)
    session.drain()
    session.receive(frames([SEND]), 0.0, taker.feed)
    assert taker.opaques == []


def test_garbage_in_pieces_ends_the_session() -> None:
    session = Session(SessionLimits(), 0.0)
    taker = Taker(session)
    session.receive(b"\x00\x00", 0.0, taker.feed)
    (ended,) = session.receive(b"\x00\x09\x07\x00\x00\x00x", 0.0, taker.feed)
    assert not isinstance(ended, Requests)
    assert session.is_over
