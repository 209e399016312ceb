"""Tests layouts and dumps of file formats."""

from __future__ import annotations

import pytest

from tools.formats.blocks import filled, names_in
from tools.formats.layout import Example, Field, Part, Piece

PART = Part(
    "entry",
    (
        Field("length", "uint16", "n"),
        Field("name", "text", "UTF-8", "n"),
        Field("time", "int64", "ms"),
        Field("sum", "hex32", ""),
    ),
)
DATA = b"\0\x02ab" + (7).to_bytes(8, "big") + b"\xda\xa3\x20\xa7"


def test_offsets_behind_a_field_of_varying_length_name_its_letter() -> None:
    offsets = [line.split("|")[1].strip() for line in PART.table()][2:]
    assert offsets == ["0", "2", "2 + n", "10 + n"]


def test_a_dump_has_every_byte_and_what_it_says() -> None:
    lines = [*Example(DATA, [Piece(PART, {"n": 2})], start=8).lines()][1:]
    assert [line.split("  ")[-1].strip() for line in lines] == [
        "length = 2",
        "name = ab",
        "time = 7",
        "sum = 0xdaa320a7",
    ]
    assert [int(line[:6]) for line in lines] == [8, 10, 12, 20]


def test_long_run_of_zeros_is_summarized() -> None:
    part = Part("rest", (Field("zeros", "bytes", "", "z"),))
    (line,) = [*Example(bytes(99), [Piece(part, {"z": 99})]).lines()][1:]
    assert "(99 bytes of 00)" in line


def test_a_long_text_stands_beside_its_bytes() -> None:
    part = Part("json", (Field("object", "text", "", "n"),))
    text = b'{"key":"%s"}' % (b"v" * 50)
    lines = [*Example(text, [Piece(part, {"n": len(text)})]).lines()][1:]
    assert "".join(line.split(" | ")[-1] for line in lines) == text.decode()


def test_an_example_that_its_parts_do_not_cover_is_an_error() -> None:
    with pytest.raises(ValueError, match="the fields have 16 bytes, and the example 17"):
        list(Example(DATA + b"\0", [Piece(PART, {"n": 2})]).lines())


def test_a_block_of_a_page_is_replaced_and_the_rest_stays() -> None:
    begin, end = "<!-- made by `make docs`: epoch.layout -->", "<!-- end of epoch.layout -->"
    page = f"# E\n{begin}\nold\n{end}\nafter\n"
    new = filled(page)
    assert names_in(page) == ["epoch.layout"]
    assert "old" not in new
    assert "| 8 | 8 | int64 | start |" in new
    assert new.startswith("# E\n")
    assert new.endswith("-->\nafter\n")


def test_a_block_of_an_unknown_name_is_an_error() -> None:
    page = "<!-- made by `make docs`: no.layout -->\n<!-- end of no.layout -->\n"
    with pytest.raises(KeyError):
        filled(page)
