r"""Encodes, decodes and edits message properties: names and values, in their stored bytes.

    bytes      name \x01 value \x02   repeated, UTF-8, no escaping; the last \x02 may be missing
    example    KEYS\x01k1 k2\x02TAGS\x01TagA\x02

Reading is lenient, as in Java: a value may contain \x01; entries without \x01, name or value are
skipped; the last of equal names wins. Versions 4.9.2 to 5.1.4 strip the last \x02, so code that
appends must add it first. Names passed to `get`, `delete`, `append` and `replace` must contain
neither separator (`fault` checks that).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.wire import java_string
from gantrymq.wire.message import property_names

NAME_END: Final = "\x01"
VALUE_END: Final = "\x02"
NAME_END_BYTE: Final = b"\x01"
VALUE_END_BYTE: Final = b"\x02"


def parse(properties: bytes) -> dict[str, str]:
    result: dict[str, str] = {}
    for entry in java_string.utf8_text(properties).split(VALUE_END):
        name, _, value = entry.partition(NAME_END)
        if name and value:
            result[name] = value
    return result


def encode(properties: Mapping[str, str]) -> bytes:
    """Every pair, in the mapping's order, ended by a separator, as in Java 5.2 and later."""
    text = "".join([f"{name}\x01{value}\x02" for name, value in properties.items()])
    return java_string.utf8_bytes(text)


def get(properties: bytes, name: str) -> str | None:
    """The result of `parse(properties).get(name)`, without parsing the rest."""
    start = name.encode() + NAME_END_BYTE
    size = len(start)
    limit = len(properties)
    found = properties.rfind(start)
    while found >= 0:
        if found == 0 or properties[found - 1] == 2:
            end = properties.find(VALUE_END_BYTE, found + size)
            value = properties[found + size : limit if end < 0 else end]
            if value:
                return java_string.utf8_text(value)
        found = properties.rfind(start, 0, found + size - 1)
    return None


def delete(properties: bytes, name: str) -> bytes:
    """The properties without any entry of that name; other bytes are unchanged."""
    start = name.encode() + NAME_END_BYTE
    if start not in properties:
        return properties
    entries = properties.split(VALUE_END_BYTE)
    closed = entries.pop()
    kept = [entry + VALUE_END_BYTE for entry in entries if not entry.startswith(start)]
    if not closed.startswith(start):
        kept.append(closed)
    return b"".join(kept)


def append(properties: bytes, name: str, value: str) -> bytes:
    """The properties with one more entry at the end, which wins over earlier ones of that name."""
    return join(properties, java_string.utf8_bytes(f"{name}\x01{value}\x02"))


def replace(properties: bytes, name: str, value: str) -> bytes:
    """The properties with exactly one entry of that name, at the end."""
    return append(delete(properties, name), name, value)


def join(first: bytes, second: bytes) -> bytes:
    """Concatenate two property strings; adds a missing separator between them."""
    if not first or not second or first.endswith(VALUE_END_BYTE):
        return first + second
    return first + VALUE_END_BYTE + second


def fault(name: str, value: str) -> str | None:
    """Why a user may not set this property, or None.

    Stricter than Java, which accepts separators and so loses what follows them.
    """
    if not name.strip() or not value.strip():
        return "The name or value of property can not be null or blank string!"
    if name in property_names.RESERVED:
        return f"The Property<{name}> is used by system, input another please"
    for part, what in ((name, "name"), (value, "value")):
        if VALUE_END in part:
            return f"the {what} of property {name!r} holds \\x02, which ends properties; remove it"
    if NAME_END in name:
        return f"the name of property {name!r} holds \\x01, which ends names; remove it"
    return None
