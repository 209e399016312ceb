"""The bytes of replication, held against a session of two Java 5.3.3 brokers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.ha.classic.frames import FrameReader, ReportReader, encode_head, encode_report

_TEXT: Final = Path("tests/vectors/ha-transcript-5.3.3.json").read_text(encoding="utf-8")
EVENTS: Final = json.loads(_TEXT)["events"]


def said(direction: str) -> list[bytes]:
    """What one side said, each read filled up with zeros to its length."""
    return [
        bytes.fromhex(event["head"]).ljust(event["len"], b"\0")
        for event in EVENTS
        if event["dir"] == direction
    ]


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


def read_frames(pieces: list[bytes]) -> tuple[list[tuple[int, int]], str]:
    """Where bytes lie, joined where they continue each other, and signs of life."""
    reader = FrameReader()
    found: list[tuple[int, int]] = []
    for piece in pieces:
        for position, data in reader.decode(piece):
            if found and data and found[-1][1] and sum(found[-1]) == position:
                found[-1] = (found[-1][0], found[-1][1] + len(data))
            else:
                found.append((position, len(data)))
    return found, reader.failure


def test_a_java_slaves_reports_are_read() -> None:
    reader = ReportReader()
    positions = [position for data in said("slave->master") for position in reader.decode(data)]
    assert positions[:4] == [0, 0x1387F, 0x13A0F, 0x13A0F]
    assert positions == sorted(positions)
    assert b"".join(map(encode_report, positions)) == b"".join(said("slave->master"))


def test_a_java_masters_frames_are_read() -> None:
    found, failure = read_frames(said("master->slave"))
    assert not failure
    assert found[0] == (0x10000, 0x13A0F - 0x10000)
    assert (0x13A0F, 0) in found
    ends = [position + size for position, size in found]
    assert [position for position, _ in found[1:]] == ends[:-1]


@given(st.lists(st.integers(0, 5000), max_size=20))
def test_frames_are_read_wherever_they_are_cut(sizes: list[int]) -> None:
    data = b"".join(said("master->slave"))
    assert read_frames(cut(data, sizes)) == read_frames([data])


@given(st.lists(st.integers(0, 2**63 - 1), max_size=20), st.lists(st.integers(0, 30), max_size=20))
def test_reports_are_read_wherever_they_are_cut(positions: list[int], sizes: list[int]) -> None:
    data = b"".join(map(encode_report, positions))
    reader = ReportReader()
    assert [each for piece in cut(data, sizes) for each in reader.decode(piece)] == positions


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
def test_invalid_frame_ends_decoding(position: int, size: int) -> None:
    is_sound = position >= 0 and 0 <= size <= 4 << 20
    reader = FrameReader()
    reader.decode(encode_head(position, size))
    assert bool(reader.failure) != is_sound
    if not is_sound:
        assert not reader.decode(encode_head(0, 0))
