"""Tests that the quick header reader gives the same answers as the thorough one, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.wire import header_json, header_scan
from gantrymq.wire.command import Command

VECTORS = Path(__file__).parents[2] / "vectors"

TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "\x00",
        "\x1f\x7f",
        '"',
        "\\",
        "/",
        "\\u0041",
        "é",
        "主题",
        "\uffff",
        "😀",
        "\ud800",
        "\udc00\ud800",
    ]
)
NUMBERS = st.integers(-(1 << 33), 1 << 33) | st.sampled_from(
    [0, -(1 << 31), (1 << 31) - 1, 1 << 31]
)
VALUES = st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False), TEXT)
HEADERS = st.dictionaries(
    st.sampled_from(
        ["code", "flag", "opaque", "version", "remark", "language", "more", "extFields"]
    ),
    VALUES | st.sampled_from(["JAVA", "GO", "KLINGON"]) | st.dictionaries(TEXT, TEXT | VALUES),
)


def scan(header: bytes) -> Command | None:
    return header_scan.scan(header, 0, len(header))


def parse(header: bytes) -> Command | None:
    """None stands for a refusal."""
    try:
        return header_json.parse(header)
    except RemoteError:
        return None


def assert_alike(header: bytes) -> None:
    quick = scan(header)
    assert quick is None or quick == parse(header)


def golden_headers() -> list[bytes]:
    vectors = json.loads((VECTORS / "remoting-5.3.3.json").read_text())["vectors"]
    frames = [bytes.fromhex(vector["frame"]) for vector in vectors if vector["serialize"] == "JSON"]
    return [frame[8 : 8 + int.from_bytes(frame[5:8], "big")] for frame in frames]


@pytest.mark.parametrize("header", golden_headers())
def test_headers_written_by_java_are_scanned(header: bytes) -> None:
    command = scan(header)
    assert command is not None
    assert command == parse(header)


@given(HEADERS, st.booleans(), st.booleans())
def test_scan_agrees_with_the_thorough_reader(
    fields: dict[str, object], is_ascii: bool, is_compact: bool
) -> None:
    separators = (",", ":") if is_compact else None
    text = json.dumps(fields, ensure_ascii=is_ascii, separators=separators)
    assert_alike(text.encode("utf-8", "replace"))


@given(st.data())
def test_scan_agrees_on_damaged_headers(data: st.DataObject) -> None:
    header = bytearray(data.draw(st.sampled_from(golden_headers())))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(header) - 1))
        kind = data.draw(st.sampled_from(["replace", "insert", "delete"]))
        noise = data.draw(st.sampled_from(b'{}[]",:\\/u0019-+.eE \n\x00\x80\xc3\xffnt'))
        if kind == "replace":
            header[position] = noise
        elif kind == "insert":
            header.insert(position, noise)
        elif len(header) > 1:
            del header[position]
    assert_alike(bytes(header))


@pytest.mark.parametrize("cut", range(200))
def test_truncated_header_is_not_scanned(cut: int) -> None:
    assert scan(golden_headers()[0][:cut]) is None


def test_scan_stays_inside_of_its_part_of_the_buffer() -> None:
    data = b'{"code":7,"remark":"\\u0041"}'
    for end in range(len(data)):
        assert header_scan.scan(data, 0, end) is None
    assert header_scan.scan(data, 0, len(data)) == Command(7, remark="A")
