"""Describes what most of Gantry's own files begin with: a magic word and a sum."""

from __future__ import annotations

from typing import Final

from tools.formats.layout import Example, Field, Part, Piece

HEAD: Final = Part(
    "head",
    (
        Field("magic", "text", "four letters that name the format and its version", 4),
        Field("CRC", "hex32", "CRC-32 of all bytes that follow"),
    ),
)
JSON: Final = Part("content", (Field("JSON object", "text", "UTF-8", "j"),))


def json_lines(data: bytes) -> list[str]:
    """The dump of a file that holds one JSON object."""
    head_bytes = 8
    return [*Example(data, [Piece(HEAD), Piece(JSON, {"j": len(data) - head_bytes})]).lines()]
