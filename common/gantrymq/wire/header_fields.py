"""Converts between ext fields and values by a table that header.py makes once for each class.

All values travel as text. Numbers are parsed like Java's Integer.parseInt and Long.parseLong,
booleans like Boolean.parseBoolean: "true" in any case is true, anything else false.

Written for the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, final

ExtValue: TypeAlias = "str | int | bool | None"

# The kinds of a field.
TEXT: Final = "s"
INT32: Final = "i"
INT64: Final = "l"
BOOLEAN: Final = "b"


@final
class Field:
    """One field: its name in the class and on the wire, and the type of its value."""

    __slots__ = ("attribute", "is_required", "kind", "wire_name")

    def __init__(self, attribute: str, wire_name: str, kind: str, *, is_required: bool) -> None:
        self.attribute: str = attribute
        self.wire_name: str = wire_name
        self.kind: str = kind
        self.is_required: bool = is_required

    def value(self, text: str | None) -> ExtValue:
        """The value of the text; ValueError says what is wrong with it."""
        if text is None:
            if self.is_required:
                raise ValueError("is null")
            return None
        kind = self.kind
        if kind == TEXT:
            return text
        if kind == INT32:
            return parse_int32(text)
        if kind == INT64:
            return parse_int64(text)
        return text == "true" or text.lower() == "true"


def read(fields: tuple[Field, ...], ext: Mapping[str, str]) -> dict[str, ExtValue]:
    """The values by attribute name, without absent ones.

    Raises ValueError if one is invalid; `Field.value` of each field tells which.
    """
    values: dict[str, ExtValue] = {}
    find: Callable[[str], str | None] = ext.get
    for field in fields:
        value = field.value(find(field.wire_name))
        if value is not None:
            values[field.attribute] = value
    return values


def written(fields: tuple[Field, ...], values: tuple[ExtValue, ...]) -> dict[str, str]:
    """The ext fields of these values, one for each field, without those that are None."""
    ext: dict[str, str] = {}
    for at, field in enumerate(fields):
        value = values[at]
        if value is not None:
            ext[field.wire_name] = _text(value)
    return ext


def _text(value: str | int | bool) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# int() alone would also accept blanks, underscores and digits of other scripts. Twenty digits hold
# any long; longer numbers could only have leading zeros, which no peer sends.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")


def parse_int32(text: str) -> int:
    """Parse like Integer.parseInt; ValueError says what is wrong."""
    # Most numbers are short and plain, and need no pattern.
    if (len(text) < 10 and text.isdigit() and text.isascii()) or _INTEGER.fullmatch(text):
        number = int(text)
        if -0x80000000 <= number <= 0x7FFFFFFF:
            return number
    raise ValueError(f"is {_shown(text)}, not an int")


def parse_int64(text: str) -> int:
    """Parse like Long.parseLong; ValueError says what is wrong."""
    if (len(text) < 19 and text.isdigit() and text.isascii()) or _INTEGER.fullmatch(text):
        number = int(text)
        if -0x8000000000000000 <= number <= 0x7FFFFFFFFFFFFFFF:
            return number
    raise ValueError(f"is {_shown(text)}, not a long")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
