"""Reads a send request in the binary header form; wire/header_binary.py has the layout."""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64

from gantrymq.store.record.send_fields import SendFields

_REMARK_AT: Final = 13  # after the fields of fixed size
_SMALLEST: Final = 21


def read(fields: SendFields, data: bytes, start: i64, end: i64) -> bool:
    """Fill `fields` from the header data[start:end]; False if anything in it is unusual."""
    fields.clear()
    if end - start < _SMALLEST:
        return False
    fields.code = i64(read_i16_be(data, start))
    if not fields.is_send:
        return False
    fields.opaque = i64(read_i32_be(data, start + 5))
    fields.command_flag = i64(read_i32_be(data, start + 9))
    if i64(read_i32_be(data, start + _REMARK_AT)) != 0:  # no producer sends a remark
        return False
    position: i64 = start + _SMALLEST
    # Bytes behind the ext fields are ignored, as Java does.
    ext_bytes = i64(read_i32_be(data, position - 4))
    return 0 <= ext_bytes <= end - position and _ext(fields, data, position, position + ext_bytes)


def _ext(fields: SendFields, data: bytes, position: i64, end: i64) -> bool:
    while position < end:
        if end - position < 6:
            return False
        length = i64(read_i16_be(data, position))
        name_at: i64 = position + 2
        if length < 0 or length > end - name_at - 4:
            return False
        name_end = name_at + length
        length = i64(read_i32_be(data, name_end))
        position = name_end + 4
        if length < 0 or length > end - position:
            return False
        if not fields.take(data, name_at, name_end, position, position + length):
            return False
        position += length
    return True
