"""Implements the parts of Java's String that bytes and hashes on the wire and disk depend on.

A Java string is a sequence of UTF-16 code units: a supplementary character counts as two, and a
lone surrogate is possible. Python's JSON reader can return lone surrogates too.
"""

from __future__ import annotations

import struct


def utf8_bytes(text: str) -> bytes:
    """Like `getBytes(UTF_8)`: a lone surrogate becomes `?` instead of an error."""
    return text.encode("utf-8", "replace")


def utf8_text(data: bytes) -> str:
    """Like `new String(data, UTF_8)`: bytes that are not UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")


def hash_code(text: str) -> int:
    """Like `String.hashCode()`: h = 31 * h + unit over the UTF-16 units, in signed 32 bits."""
    result = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            result = (result * 31 + unit) & 0xFFFFFFFF
    else:
        encoded = text.encode("utf-16-be", "surrogatepass")
        for wide_unit in struct.unpack(f">{len(encoded) >> 1}H", encoded):
            result = (result * 31 + wide_unit) & 0xFFFFFFFF
    return result - 0x100000000 if result >= 0x80000000 else result
