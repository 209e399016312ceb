"""Tests the frames between members, in any pieces and from any peer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.ha.protocol.member_frames import (
    OPENING,
    Data,
    Frame,
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    Table,
    encode,
    encode_data_head,
    encode_table_head,
)

number = st.integers(0, (1 << 63) - 1)
frame = st.one_of(
    st.builds(Report, number, number, number, number),
    st.builds(Heartbeat, number, number, number, number),
    st.builds(Table, number, st.text(min_size=1, max_size=9), st.binary(max_size=40)),
    st.builds(Data, st.integers(0, 1 << 40), st.binary(min_size=1, max_size=40)),
    st.builds(
        HandshakeFrame,
        st.sampled_from([Kind.HELLO, Kind.JOINING, Kind.CHALLENGE, Kind.WELCOME, Kind.REFUSAL]),
        st.binary(min_size=2, max_size=40),
    ),
)


def encoded(given: Frame) -> bytes:
    if isinstance(given, Data):
        return encode_data_head(given.position, len(given.data)) + given.data
    if isinstance(given, Table):
        return encode_table_head(given.number, given.name, len(given.content)) + given.content
    return encode(given)


def joined(frames: list[Frame]) -> list[Frame]:
    """Pieces of the log that continue each other are one."""
    found: list[Frame] = []
    for each in frames:
        last = found[-1] if found else None
        if (
            isinstance(each, Data)
            and isinstance(last, Data)
            and last.position + len(last.data) == each.position
        ):
            found[-1] = Data(last.position, last.data + each.data)
        else:
            found.append(each)
    return found


@given(st.lists(frame, max_size=6), st.lists(st.integers(1, 30), max_size=20))
def test_frames_are_decoded_from_any_pieces(said: list[Frame], sizes: list[int]) -> None:
    data = OPENING + b"".join(map(encoded, said))
    reader = MemberReader(*Kind)
    heard: list[Frame] = []
    for size in [*sizes, len(data)]:
        heard += reader.decode(data[:size])
        data = data[size:]
    assert joined(heard) == joined(said)
    assert not reader.failure


def test_the_bytes_are_as_described() -> None:
    numbers = b"".join(each.to_bytes(8, "big") for each in (1, 2, 3, 4))
    assert encode(Report(1, 2, 3, 4)) == b"A\0\0\0\x21" + numbers + b"\0"
    assert encode(Report(1, 2, 3, 4, is_leaving=True)) == b"A\0\0\0\x21" + numbers + b"\1"
    both = Report(1, 2, 3, 4, is_leaving=True, is_refusing=True)
    assert encode(both) == b"A\0\0\0\x21" + numbers + b"\3"
    head = b"T\0\0\0\x13" + (5).to_bytes(8, "big") + b"\0\x07offsets"
    assert encode_table_head(5, "offsets", 2) == head
    assert encode_data_head(9, 3) == b"D\0\0\0\x0b" + (9).to_bytes(8, "big")


def test_rocketmqs_brokers_cannot_say_the_opening() -> None:
    assert int.from_bytes(OPENING, "big", signed=True) < 0


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        (0).to_bytes(8, "big") * 4,
        OPENING + b"Z\0\0\0\x04abcd",
        OPENING + b"A\0\0\0\x1f" + b"\0" * 31,
        OPENING + b"A\xff\xff\xff\xff",
        OPENING + b"D\0\0\0\x08" + b"\0" * 8,
        OPENING + b"T\0\0\0\x0b" + b"\0" * 8 + b"\0\x09x",
        OPENING + b"T\0\0\0\x0c" + b"\0" * 8 + b"\0\x02\xff\xff",
    ],
)
def test_garbage_is_ignored_and_reported(garbage: bytes) -> None:
    reader = MemberReader(*Kind)
    assert not list(reader.decode(garbage))
    assert reader.failure
    assert not list(reader.decode(encode(Report(5, 5, 5))))


def test_what_is_not_expected_is_refused_by_its_head() -> None:
    for kind in set(Kind) - {Kind.HELLO}:
        reader = MemberReader(Kind.HELLO)
        size = {Kind.PROOF: 32, Kind.REPORT: 33, Kind.BEAT: 32}.get(kind, 1000)
        assert not list(reader.decode(OPENING + kind.value + size.to_bytes(4)))
        assert "unexpected frame" in reader.failure


def test_what_is_expected_changes_from_one_frame_to_the_next() -> None:
    reader = MemberReader(Kind.REPORT)
    heard = []
    report = encode(Report(5, 5, 5))
    for frame in reader.decode(OPENING + report + report):
        heard.append(frame)
        reader.expect(Kind.BEAT)
    assert heard == [Report(5, 5, 5)]
    assert "unexpected frame report" in reader.failure


@given(st.binary(max_size=80))
def test_whatever_comes_no_frame_is_longer_than_it_may_be(data: bytes) -> None:
    for each in MemberReader(*Kind).decode(OPENING + data):
        assert not isinstance(each, Table) or each.name
