"""Finds the messages of a batch in the body of its send request, without decoding the batch.

wire/message/batch.py has the layout. Each message is stored with its own properties followed by
those of the batch, which take precedence. Invariant: `batch.decode` reads the same messages, and no
property of theirs requires more than storing them.

This module is written to be compiled: it reads each byte of the properties once.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64

from gantrymq.store.record.plain_properties import are_plain
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX

_HEAD_BYTES: Final = 20
_FIXED_BYTES: Final = 22


@final
class Part:
    """One message of a batch as it will be stored."""

    __slots__ = ("body", "flag", "properties", "scan")

    def __init__(self, body: bytes, flag: i64, properties: bytes, scan: PropertyScan) -> None:
        self.body: bytes = body
        self.flag: i64 = flag
        self.properties: bytes = properties
        self.scan: PropertyScan = scan


def read_parts(
    data: bytes,
    start: i64,
    end: i64,
    shared: PropertyScan,
    shared_properties: bytes,
    bytes_max: i64,
) -> list[Part]:
    """The messages in data[start:end]. Empty if one of them is malformed or not plain, or if their
    bodies and properties are longer than `bytes_max`."""
    parts: list[Part] = []
    nothing: list[Part] = []
    at: i64 = start
    size: i64 = 0
    while at < end:
        if end - at < _FIXED_BYTES:
            return nothing
        body_bytes = i64(read_i32_be(data, at + 16))
        if body_bytes <= 0 or body_bytes > end - at - _FIXED_BYTES:
            return nothing
        own_at: i64 = at + _FIXED_BYTES + body_bytes
        own_end: i64 = own_at + i64(read_i16_be(data, own_at - 2))
        if own_end < own_at or own_end > end or own_end - at != i64(read_i32_be(data, at)):
            return nothing
        scan = PropertyScan()
        scan.read(data, own_at, own_end)
        own = data[own_at:own_end]
        properties = codec.join(own, shared_properties)
        size += body_bytes + len(properties)
        is_small = size <= bytes_max and len(properties) <= PROPERTIES_BYTES_MAX
        if not is_small or not are_plain(own, scan):
            return nothing
        scan.overlay(shared)
        body = data[at + _HEAD_BYTES : own_at - 2]
        parts.append(Part(body, i64(read_i32_be(data, at + 12)), properties, scan))
        at = own_end
    return parts
