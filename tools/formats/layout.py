"""Describes the bytes of a file, and writes the description as a table and as an annotated dump.

    part      a run of fields that may be repeated, as a record, a slot or an entry
    field     name, type, meaning, and its length: a number of bytes, or a letter where it varies
    example   bytes that Gantry's own code wrote, and which parts they consist of

Invariant: the dump shows every byte of an example once; an example whose parts do not add up to its
length is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

_INTEGERS: Final = {"int8": ">b", "uint16": ">H", "int16": ">h", "uint32": ">I", "int32": ">i"}
_STRUCTS: Final = {
    **{name: struct.Struct(code) for name, code in _INTEGERS.items()},
    "uint8": struct.Struct(">B"),
    "int64": struct.Struct(">q"),
    "hex32": struct.Struct(">I"),
}

LINE_BYTES: Final = 12
_HEX_CHARACTERS: Final = 3 * LINE_BYTES - 1

# A longer run of equal zeros is told, not shown.
_ZEROS_SHOWN: Final = 16

# A longer text stands beside its bytes, line by line.
_TEXT_SHOWN: Final = 40

_HOST_BYTES: Final = 8


@final
@dataclass(frozen=True, slots=True)
class Field:
    """One field. `type` is one of the integers, or host, text or bytes."""

    name: str
    type: str
    meaning: str
    length: int | str = 0
    """Bytes, or a letter for a length that varies; 0 for the integers, whose type says it."""

    @property
    def size(self) -> int | str:
        """The length of any field."""
        known = _STRUCTS.get(self.type)
        return known.size if known is not None else self.length


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A run of fields; `title` names it in tables and dumps where there are several."""

    title: str
    fields: Sequence[Field]

    def table(self) -> Iterator[str]:
        """The lines of the layout table."""
        yield "| offset | length | type | field | meaning |"
        yield "|---|---|---|---|---|"
        fixed, letters = 0, ""
        for each in self.fields:
            offset = f"{fixed}{letters}"
            yield f"| {offset} | {each.size} | {each.type} | {each.name} | {each.meaning} |"
            if isinstance(each.size, int):
                fixed += each.size
            else:
                letters += f" + {each.size}"


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """A part as an example has it: the lengths of what varies, by its letter."""

    part: Part
    lengths: Mapping[str, int] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Example:
    """Bytes that the code wrote, and their parts. `start` is where they lie in the file."""

    data: bytes
    pieces: Sequence[Piece]
    start: int = 0

    def lines(self) -> Iterator[str]:
        """The annotated dump."""
        yield f"offset  {'bytes':<{_HEX_CHARACTERS}}  field = value"
        at = 0
        for piece in self.pieces:
            if len(self.pieces) > 1:
                yield f"-- {piece.part.title}"
            for each in piece.part.fields:
                size = each.size if isinstance(each.size, int) else piece.lengths[each.size]
                yield from self._field(each, at, size)
                at += size
        if at != len(self.data):
            raise ValueError(f"the fields have {at} bytes, and the example {len(self.data)}")

    def _field(self, each: Field, at: int, size: int) -> Iterator[str]:
        data = self.data[at : at + size]
        shown = f"{each.name}{_value(each, data)}"
        if size > _ZEROS_SHOWN and not any(data):
            yield _line(self.start + at, f"00 ... ({size} bytes of 00)", shown)
            return
        if not data:
            yield _line(self.start + at, "(none)", shown)
        for first in range(0, size, LINE_BYTES):
            dump = data[first : first + LINE_BYTES].hex(" ")
            beside = _beside(each, data[first : first + LINE_BYTES], size)
            yield _line(self.start + at + first, dump, f"{shown}{beside}" if not first else beside)


def _line(at: int, dump: str, shown: str) -> str:
    return f"{at:6}  {dump:<{_HEX_CHARACTERS}}  {shown}".rstrip()


def _beside(each: Field, piece: bytes, size: int) -> str:
    """A line of a long text."""
    is_long = each.type == "text" and size > _TEXT_SHOWN
    return f" | {piece.decode('ascii', 'replace')}" if is_long else ""


def _value(each: Field, data: bytes) -> str:
    """What the bytes say, where that is not plain from the dump."""
    known = _STRUCTS.get(each.type)
    if known is not None:
        (number,) = known.unpack(data)
        return f" = 0x{number:08x}" if each.type == "hex32" else f" = {number}"
    if each.type == "host" and len(data) == _HOST_BYTES:
        (port,) = _STRUCTS["int32"].unpack(data[4:])
        return f" = {'.'.join(map(str, data[:4]))}:{port}"
    is_text = each.type == "text" or (data.isascii() and data.decode("ascii").isprintable())
    if is_text and 0 < len(data) <= _TEXT_SHOWN:
        text = data.decode()
        return f" = {text}" if text.isprintable() else f" = {text!r}"
    return ""
