"""Tests binary headers: round trips, and wrong lengths."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import header_binary
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
COMMANDS = st.builds(
    Command,
    INT16,
    opaque=INT32,
    flag=INT32,
    language=st.sampled_from(LanguageCode).map(int),
    version=INT16,
    remark=st.none() | TEXT.filter(bool),
    ext=st.none() | st.dictionaries(TEXT, TEXT, min_size=1),
    encoding=st.just(1),
)


def decode(header: bytes) -> Command:
    return header_binary.decode(header, 0, len(header))


def header_of(remark_length: int, remark: bytes, ext_length: int, ext: bytes) -> bytes:
    fixed = struct.pack(">hbhiii", 100, 0, 479, 5, 0, remark_length)
    return fixed + remark + struct.pack(">i", ext_length) + ext


@given(COMMANDS)
def test_written_header_is_read_back(command: Command) -> None:
    assert decode(header_binary.encode(command)) == command


@given(COMMANDS, st.data())
def test_damaged_header_is_read_or_refused(command: Command, data: st.DataObject) -> None:
    header = bytearray(header_binary.encode(command))
    header[data.draw(st.integers(0, len(header) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = decode(bytes(header))
    except RemoteError:
        return
    assert decode(header_binary.encode(read)) == read


@given(COMMANDS)
def test_a_header_cut_anywhere_is_refused(command: Command) -> None:
    header = header_binary.encode(command)
    for cut in range(len(header)):
        with pytest.raises(RemoteError):
            decode(header[:cut])


def test_a_header_is_read_out_of_the_middle_of_a_buffer() -> None:
    header = header_binary.encode(Command(7, encoding=1, ext={"a": "b"}))
    assert header_binary.decode(b"??" + header + b"??", 2, 2 + len(header)).ext == {"a": "b"}


def test_empty_and_missing_remark_and_ext_are_the_same() -> None:
    command = decode(header_binary.encode(Command(7, remark="", ext={}, encoding=1)))
    assert (command.remark, command.ext) == (None, None)


@pytest.mark.parametrize(("number", "language"), [(12, 12), (13, 13), (14, 7), (99, 7), (255, 7)])
def test_an_unknown_language_is_other(number: int, language: int) -> None:
    header = bytearray(header_binary.encode(Command(7)))
    header[2] = number
    assert decode(bytes(header)).language == language


def test_bytes_behind_the_ext_are_ignored() -> None:
    assert decode(header_of(0, b"", 0, b"\xff\xff")).code == 100


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    command = decode(header_of(1, b"\xff", 8, b"\x00\x01\xfe\x00\x00\x00\x01\xff"))
    assert (command.remark, command.ext) == ("\ufffd", {"\ufffd": "\ufffd"})


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", "at least 21 bytes, not 0"),
        (bytes(20), "at least 21 bytes, not 20"),
        (header_of(-1, b"", 0, b""), "remark has -1 bytes where there is room for 0"),
        (header_of(2, b"", 0, b"x"), "remark has 2 bytes where there is room for 1"),
        (header_of(0, b"", -1, b""), "ext has -1 bytes"),
        (header_of(0, b"", 1, b""), "ext has 1 bytes where there is room for 0"),
        (header_of(0, b"", 1, b"\x00"), "ext name has 2 bytes where there is room for 1"),
        (header_of(0, b"", 7, b"\xff\xffa\x00\x00\x00\x00"), "ext name has -1 bytes"),
        (header_of(0, b"", 7, b"\x00\x02a\x00\x00\x00\x00"), "ext name has 2 bytes"),
        (header_of(0, b"", 8, b"\x00\x01a\x00\x00\x00\x02z"), "ext value has 2 bytes"),
        (header_of(0, b"", 8, b"\x00\x01a\x80\x00\x00\x01z"), "ext value has -2147483647 bytes"),
    ],
)
def test_wrong_length_is_refused_with_the_reason(header: bytes, reason: str) -> None:
    with pytest.raises(RemoteError, match=reason):
        decode(header)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Command(200050), "code 200050 does not fit into a binary header; use the JSON form"),
        (Command(1, version=1 << 15), "version 32768 does not fit"),
        (Command(1, opaque=1 << 31), "opaque 2147483648 does not fit"),
        (Command(1, flag=-(1 << 31) - 1), "flag -2147483649 does not fit"),
        (Command(1, ext={"k" * 32768: ""}), "length of an ext name 32768 does not fit"),
    ],
)
def test_value_beyond_the_binary_form_is_a_programming_error(command: Command, reason: str) -> None:
    with pytest.raises(LocalError, match=reason):
        header_binary.encode(command)


def test_lone_surrogate_is_written_as_a_question_mark() -> None:
    command = decode(header_binary.encode(Command(0, remark="\ud800", ext={"\udc00": "\ud800"})))
    assert (command.remark, command.ext) == ("?", {"?": "?"})
