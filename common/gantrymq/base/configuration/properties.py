"""Reads and writes Java's .properties text, as Properties.load and MixAll.properties2String do.

    # comment            ! comment
    key=value            key : value            key value
    long = first, \\
           second        a backslash at the end of a line joins the next one, its indent dropped
    path=C:\\\\data \\u00e9\\t   \\t \\n \\r \\f \\uXXXX; any other escaped character is itself

Keys end at the first unescaped blank, `=` or `:`. Values keep their trailing blanks: the code that
binds them trims them. If several lines have the same key, the last one counts.

The writer's lines are `key=value`, as Java's are. It escapes characters that would otherwise be
lost (Java forgets to), so parsing formatted text gives the same values for every text.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.base.errors import ConfigurationError

# Not str.splitlines: in Java only these three end a line.
_NATURAL_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_KEY: Final = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS: Final = " \t\f"

_SPECIAL_IN_VALUE: Final = re.compile(r"[\\\n\r]|^[ \t\f]")
_SPECIAL_IN_KEY: Final = re.compile(r"[\\\n\r\t\f =:]|^[#!]")
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_WRITTEN_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One key and value, and the natural lines that they span."""

    key: str
    value: str
    first_line: int
    last_line: int


def decode_properties(data: bytes) -> str:
    """The text of a file or body: UTF-8, or, as in Java, ISO-8859-1 if it is not valid UTF-8.

    A byte order mark, as editors on Windows write it, is not part of the first key.
    """
    return data.removeprefix(codecs.BOM_UTF8).decode(_encoding(data))


def _encoding(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "iso-8859-1"
    return "utf-8"


def parse_properties(text: str) -> dict[str, str]:
    """All keys with their values, in the order of the lines."""
    return {entry.key: entry.value for entry in _entries(_NATURAL_LINE.findall(text))}


def line_numbers(text: str) -> dict[str, int]:
    """The line number, from 1 on, of the effective entry of each key."""
    return {entry.key: entry.first_line + 1 for entry in _entries(_NATURAL_LINE.findall(text))}


def format_properties(values: Mapping[str, str]) -> str:
    """One `key=value` line each."""
    return "".join(_line(key, value) for key, value in values.items())


def rewrite_properties(data: bytes, changes: Mapping[str, str]) -> bytes:
    """`update_properties` for a file's bytes; the bytes of all other lines are unchanged."""
    encoding = _encoding(data)
    mark = data[: len(codecs.BOM_UTF8)] if data.startswith(codecs.BOM_UTF8) else b""
    text = data[len(mark) :].decode(encoding)
    if encoding == "utf-8":
        return mark + update_properties(text, changes).encode()
    return mark + update_properties(text, changes, ascii_only=True).encode(encoding)


def update_properties(text: str, changes: Mapping[str, str], *, ascii_only: bool = False) -> str:
    """The text with these values changed or added; all other lines are unchanged.

    With `ascii_only` the new lines mean the same in every encoding.
    """
    lines: list[str] = _NATURAL_LINE.findall(text)
    last = {entry.key: entry for entry in _entries(lines)}
    for key, value in changes.items():
        entry = last.get(key)
        if entry is None:
            lines += [_gap_after(lines), _line(key, value, ascii_only=ascii_only)]
        elif entry.value != value:
            lines[entry.first_line] = _line(key, value, ascii_only=ascii_only)
            # Emptied, not removed, so that the line numbers of other entries stay valid.
            for index in range(entry.first_line + 1, entry.last_line + 1):
                lines[index] = ""
    return "".join(lines)


def _gap_after(lines: list[str]) -> str:
    """The text that separates a new line from those before it."""
    if not lines:
        return ""
    gap = "" if lines[-1].endswith(("\n", "\r")) else "\n"
    if not _is_continued(_content(lines[-1])):
        return gap
    # A dangling backslash at the end of a file would join the new line; an empty line prevents
    # that. After a lone carriage return the first line feed only completes its line end.
    return gap + ("\n\n" if lines[-1].endswith("\r") else "\n")


def _entries(lines: list[str]) -> list[_Entry]:
    entries: list[_Entry] = []
    index = 0
    while index < len(lines):
        first = index
        logical = _content(lines[index])
        if logical in ("", "\\") or logical[0] in "#!":
            index += 1
            continue
        pieces = []
        while _is_continued(logical):
            pieces.append(logical[:-1])
            index += 1
            logical = _content(lines[index]) if index < len(lines) else ""
        pieces.append(logical)
        index += 1
        logical = "".join(pieces)
        match = _KEY.match(logical)
        assert match is not None, "the pattern matches nothing at all"
        key = _unescape(match[1], first)
        value = _unescape(logical[match.end() :], first)
        entries.append(_Entry(key, value, first, min(index, len(lines)) - 1))
    return entries


def _content(line: str) -> str:
    return line.rstrip("\r\n").lstrip(_BLANKS)


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code, plain = match.groups()
        if code is not None:
            return chr(int(code, 16))
        if plain == "u":
            raise ConfigurationError(f"line {line + 1}: \\u needs four hexadecimal digits after it")
        return _NAMED_ESCAPES.get(plain, plain)

    # Two escaped halves of a surrogate pair are one character; a lone half becomes U+FFFD.
    units = _ESCAPE.sub(character, text).encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "replace")


def _line(key: str, value: str, *, ascii_only: bool = False) -> str:
    line = f"{_SPECIAL_IN_KEY.sub(_escape, key)}={_SPECIAL_IN_VALUE.sub(_escape, value)}\n"
    return _FOREIGN.sub(_utf16_escapes, line) if ascii_only else line


def _utf16_escapes(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{unit:04X}" for (unit,) in struct.iter_unpack(">H", units))


def _escape(match: re.Match[str]) -> str:
    return _WRITTEN_ESCAPES.get(match[0], "\\" + match[0])
