"""Tests the stream decoder with frames of real Java peers, cut and damaged in every way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any  # a test vector is any JSON

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode, encode_parts

VECTORS = Path(__file__).parents[2] / "vectors"
Vector = dict[str, Any]


def golden() -> list[Vector]:
    return [
        vector
        for release in ("4.9.8", "5.3.3")
        for vector in json.loads((VECTORS / f"remoting-{release}.json").read_text())["vectors"]
    ]


def traffic() -> list[Vector]:
    exchanges = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    sides = [exchange.get(side) for exchange in exchanges for side in ("request", "response")]
    return [side for side in sides if side is not None and side["frame"]]


def name_of(vector: Vector) -> str:
    return f"{vector['name']}-{vector['serialize']}"


def read_one(frame: bytes) -> Command:
    reader = FrameReader()
    (command,) = reader.decode(frame)
    assert reader.failure is None
    assert reader.buffered_bytes == 0
    return command


def expected_command(vector: Vector) -> Command:
    ext = vector.get("ext")
    return Command(
        vector["code"],
        opaque=vector["opaque"],
        flag=vector["flag"],
        language=LanguageCode[vector["language"]],
        version=vector["version"],
        remark=vector.get("remark"),
        # Java tells of an empty value of a binary header as null.
        ext=None if ext is None else {name: value or "" for name, value in ext.items()},
        body=bytes.fromhex(vector.get("bodyHex") or ""),
        encoding=1 if vector.get("serialize") == "ROCKETMQ" else 0,
    )


@pytest.mark.parametrize("vector", golden(), ids=name_of)
def test_golden_frames_are_read(vector: Vector) -> None:
    assert read_one(bytes.fromhex(vector["frame"])) == expected_command(vector)


@pytest.mark.parametrize("vector", golden(), ids=name_of)
def test_golden_frames_are_written_byte_for_byte(vector: Vector) -> None:
    frame = bytes.fromhex(vector["frame"])
    command = expected_command(vector)
    if command.ext is not None:  # only the order of Java's hash map is not ours to know
        command.ext = {name: command.ext[name] for name in read_one(frame).ext or {}}
    assert encode(command) == frame


def test_recorded_traffic_is_read_and_written_byte_for_byte() -> None:
    sides = traffic()
    assert len(sides) > 350
    for side in sides:
        frame = bytes.fromhex(side["frame"])
        command = read_one(frame)
        expected = expected_command(side)
        assert len(command.body) == side.get("bodyLen", 0)
        expected.body = command.body
        assert command == expected
        assert encode(command) == frame


@pytest.mark.parametrize("step", [1, 3, 7, 8, 9, 1400])
def test_commands_are_the_same_for_every_cut_of_the_stream(step: int) -> None:
    frames = [bytes.fromhex(vector["frame"]) for vector in golden()]
    stream = b"".join(frames)
    reader = FrameReader()
    commands = []
    for position in range(0, len(stream), step):
        commands += reader.decode(stream[position : position + step])
    assert commands == [read_one(frame) for frame in frames]
    assert not reader.is_mid_frame


@given(st.lists(st.integers(0, 600), max_size=30))
def test_random_cuts_change_nothing(cuts: list[int]) -> None:
    stream = b"".join(bytes.fromhex(vector["frame"]) for vector in golden()[::5])
    whole = FrameReader().decode(stream)
    reader = FrameReader()
    commands = []
    position = 0
    for cut in cuts:
        commands += reader.decode(stream[position : position + cut])
        position = min(position + cut, len(stream))
    commands += reader.decode(stream[position:])
    assert commands == whole


@pytest.mark.parametrize("vector", golden(), ids=name_of)
def test_each_damaged_byte_gives_a_command_or_a_failure(vector: Vector) -> None:
    frame = bytes.fromhex(vector["frame"])
    for position in range(len(frame)):
        for flipped in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(frame)
            damaged[position] ^= flipped
            reader = FrameReader()
            commands = reader.decode(bytes(damaged))
            assert len(commands) <= 1
            assert commands or reader.failure is not None or reader.is_mid_frame
            for command in commands:
                assert read_one(encode(command)) == command


LIES = [
    ("00000000 00000000", "length 0 of a frame is too small for its header of 0 bytes"),
    ("ffffffff 00000000", "length -1 of a frame is too small"),
    ("80000000 00000000", "length -2147483648 of a frame is too small"),
    ("00000004 00000001", "length 4 of a frame is too small for its header of 1 bytes"),
    ("00fffffd 00000002", "a frame of 16777217 bytes; 16777216 are allowed"),
    ("7fffffff 00000002", "a frame of 2147483651 bytes; 16777216 are allowed"),
    ("00000006 02000002", "serialize type 2 is neither"),
    ("00000006 ff000002", "serialize type 255 is neither"),
    ("16030100 c8010000", "serialize type 200 is neither"),  # TLS
    ("00000004 00000000", "not JSON"),
    ("00000004 01000000", "at least 21 bytes, not 0"),
]


@pytest.mark.parametrize(("prefix", "reason"), LIES)
def test_wrong_length_fails_the_reader_after_the_commands_before_it(
    prefix: str, reason: str
) -> None:
    good = encode(Command(7))
    reader = FrameReader()
    assert reader.decode(good + bytes.fromhex(prefix) + good) == [Command(7)]
    assert isinstance(reader.failure, RemoteError)
    assert reason in str(reader.failure)
    failure = reader.failure
    assert reader.decode(good) == []
    assert reader.failure is failure
    assert reader.buffered_bytes == 0


@pytest.mark.parametrize(("prefix", "reason"), LIES)
def test_wrong_length_that_arrives_byte_by_byte_fails_the_reader(prefix: str, reason: str) -> None:
    reader = FrameReader()
    for byte in bytes.fromhex(prefix):
        assert reader.failure is None
        assert reader.decode(bytes([byte])) == []
    assert reason in str(reader.failure)


def test_a_frame_of_exactly_the_allowed_size_passes() -> None:
    frame = encode(Command(7, body=bytes(100)))
    assert FrameReader(frame_bytes_max=len(frame)).decode(frame) == [Command(7, body=bytes(100))]
    strict = FrameReader(frame_bytes_max=len(frame) - 1)
    assert strict.decode(frame) == []
    assert strict.failure is not None


def test_a_header_of_exactly_the_allowed_size_passes() -> None:
    frame = encode(Command(7))
    header_bytes = len(frame) - 8
    assert FrameReader(header_bytes_max=header_bytes).decode(frame) == [Command(7)]
    strict = FrameReader(header_bytes_max=header_bytes - 1)
    assert strict.decode(frame[:8]) == []
    assert "header" in str(strict.failure)


def test_reader_reports_a_frame_that_has_begun() -> None:
    frame = encode(Command(7))
    reader = FrameReader()
    assert not reader.is_mid_frame
    reader.decode(frame + frame[:3])
    assert (reader.is_mid_frame, reader.buffered_bytes) == (True, 3)
    reader.decode(frame[3:-1])
    assert (reader.is_mid_frame, reader.buffered_bytes) == (True, len(frame) - 1)
    assert reader.decode(frame[-1:]) == [Command(7)]
    assert (reader.is_mid_frame, reader.buffered_bytes) == (False, 0)


def test_empty_input_begins_no_frame() -> None:
    reader = FrameReader()
    assert reader.decode(b"") == []
    assert not reader.is_mid_frame


def test_chunks_of_a_large_frame_are_never_joined_again() -> None:
    piece = bytes(16 << 10)
    frame = encode(Command(7, body=piece * 1000))
    reader = FrameReader()
    seen: list[bytes] = []
    for position in range(0, len(frame) - len(piece), len(piece)):
        assert reader.decode(frame[position : position + len(piece)]) == []
        assert all(old is kept for old, kept in zip(seen, reader._chunks, strict=False))
        seen = list(reader._chunks)
        assert len(reader._pieces) < 256
    assert sum(map(len, seen + reader._pieces)) == reader.buffered_bytes
    (command,) = reader.decode(frame[position + len(piece) :])
    assert command.body == piece * 1000


def test_frame_in_tiny_pieces_keeps_few_objects() -> None:
    frame = encode(Command(7, body=bytes(20_000)))
    reader = FrameReader()
    for position in range(0, len(frame) - 2, 2):
        reader.decode(frame[position : position + 2])
    assert len(reader._chunks) + len(reader._pieces) < 256 + len(frame) // 512
    assert reader.decode(frame[position + 2 :]) == [Command(7, body=bytes(20_000))]


def test_parts_do_not_copy_the_body() -> None:
    command = Command(7, body=b"large", encoding=1)
    parts = encode_parts(command)
    assert parts[-1] is command.body
    assert b"".join(parts) == encode(command)


def test_unknown_encoding_is_a_programming_error() -> None:
    with pytest.raises(LocalError, match="encoding 2 is neither"):
        encode(Command(7, encoding=2))


def test_header_longer_than_its_length_field_is_a_programming_error() -> None:
    with pytest.raises(LocalError, match="no frame holds that"):
        encode(Command(7, remark="x" * (1 << 24)))
