"""Encodes the replies to sends in advance, in the header encoding of the request.

The kernel makes a reply when it takes the send; the reply leaves once the message is safe.

    msgId  queueId  queueOffset  transactionId  MSG_REGION  TRACE_ON     in this order, code 0

Invariant: `frames.encode` makes the same frame of the same SendMessageResponse. `transactionId` is
the send's unique key, as Java answers it, and is left out if a batch has none. msgId gives the
positions of the messages (offset_id.py), separated by commas for a batch.
"""

from __future__ import annotations

import json
from typing import Final, final

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import i16, i32, i64, u8

from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.version import OWN_VERSION

_BINARY: Final = 16777216  # serialize type 1 above the header's length
_RESPONSE: Final = 1
_EXT_AT: Final = 29  # in a binary frame, its length before it
_DIGITS: Final = b"0123456789ABCDEF"


@final
class ReplyWriter:
    """Writes the replies of one broker; it holds what they have in common."""

    __slots__ = (
        "_binary_head",
        "_binary_tail",
        "_host",
        "_json_head",
        "_json_middle",
        "_json_tail",
    )

    def __init__(self, store_host: bytes, region: str) -> None:
        self._host: bytes = store_host.hex().upper().encode()
        self._json_head: bytes = b'{"code":0,"extFields":{"msgId":"' + self._host
        self._json_middle: bytes = (
            f'","MSG_REGION":{json.dumps(region)},"TRACE_ON":"true"}},"flag":1,"language":"JAVA",'
            '"opaque":'
        ).encode()
        self._json_tail: bytes = (
            f',"serializeTypeCurrentRPC":"JSON","version":{OWN_VERSION}}}'.encode()
        )
        head = BytesWriter()
        write_i16_be(head, 0)
        head.append(int(LanguageCode.JAVA))
        write_i16_be(head, i16(OWN_VERSION))
        self._binary_head: bytes = head.getvalue()
        tail = BytesWriter()
        _pair(tail, b"MSG_REGION", region.encode())
        _pair(tail, b"TRACE_ON", b"true")
        self._binary_tail: bytes = tail.getvalue()

    def write_json(
        self,
        writer: BytesWriter,
        opaque: i64,
        entries: list[DispatchEntry],
        first: i64,
        unique_key: bytes,
    ) -> None:
        """Write the reply to the send whose messages are entries[first:]."""
        entry = entries[first]
        start: i64 = len(writer)
        write_i32_be(writer, 0)  # the lengths, set when they are known
        write_i32_be(writer, 0)
        writer.write(self._json_head)
        _write_hexadecimal(writer, entry.physical_offset)
        self._write_more_ids(writer, entries, first + 1)
        writer.write(b'","queueId":"')
        _write_decimal(writer, entry.queue_id)
        writer.write(b'","queueOffset":"')
        _write_decimal(writer, entry.queue_offset)
        if unique_key:
            writer.write(b'","transactionId":"')
            writer.write(unique_key)
        writer.write(self._json_middle)
        _write_decimal(writer, opaque)
        writer.write(self._json_tail)
        length: i64 = len(writer) - start
        _set_i32(writer, start, length - 4)
        _set_i32(writer, start + 4, length - 8)

    def write_binary(
        self,
        writer: BytesWriter,
        opaque: i64,
        entries: list[DispatchEntry],
        first: i64,
        unique_key: bytes,
    ) -> None:
        """The same in the binary encoding."""
        entry = entries[first]
        start: i64 = len(writer)
        write_i32_be(writer, 0)
        write_i32_be(writer, 0)
        writer.write(self._binary_head)
        write_i32_be(writer, i32(opaque))
        write_i32_be(writer, _RESPONSE)
        write_i32_be(writer, 0)  # no remark
        write_i32_be(writer, 0)
        writer.write(b"\x00\x05msgId")
        id_bytes: i64 = len(self._host) + 16
        write_i32_be(writer, i32((id_bytes + 1) * (len(entries) - first) - 1))
        writer.write(self._host)
        _write_hexadecimal(writer, entry.physical_offset)
        self._write_more_ids(writer, entries, first + 1)
        writer.write(b"\x00\x07queueId")
        _write_number(writer, entry.queue_id)
        writer.write(b"\x00\x0bqueueOffset")
        _write_number(writer, entry.queue_offset)
        if unique_key:
            _pair(writer, b"transactionId", unique_key)
        writer.write(self._binary_tail)
        length: i64 = len(writer) - start
        _set_i32(writer, start, length - 4)
        _set_i32(writer, start + 4, (length - 8) | _BINARY)
        _set_i32(writer, start + _EXT_AT - 4, length - _EXT_AT)

    def _write_more_ids(
        self, writer: BytesWriter, entries: list[DispatchEntry], first: i64
    ) -> None:
        """Write the ids of the messages behind the first."""
        at = first
        while at < len(entries):
            writer.append(0x2C)
            writer.write(self._host)
            _write_hexadecimal(writer, entries[at].physical_offset)
            at += 1


def _pair(writer: BytesWriter, name: bytes, value: bytes) -> None:
    """Write an ext field of a binary header."""
    write_i16_be(writer, i16(len(name)))
    writer.write(name)
    write_i32_be(writer, i32(len(value)))
    writer.write(value)


def _write_number(writer: BytesWriter, number: i64) -> None:
    """Write a number as the value of an ext field in a binary header."""
    start: i64 = len(writer)
    write_i32_be(writer, 0)
    _write_decimal(writer, number)
    _set_i32(writer, start, len(writer) - start - 4)


def _write_decimal(writer: BytesWriter, number: i64) -> None:
    if number < 0:
        writer.append(0x2D)
        number = -number
    rest = number
    writer.append(0x30)
    while rest >= 10:
        writer.append(0x30)
        rest //= 10
    at: i64 = len(writer) - 1
    while number > 0:
        writer[at] = u8(0x30 + number % 10)
        number //= 10
        at -= 1


def _write_hexadecimal(writer: BytesWriter, number: i64) -> None:
    """Write 16 hexadecimal digits."""
    shift: i64 = 60
    while shift >= 0:
        writer.append(_DIGITS[(number >> shift) & 0xF])
        shift -= 4


def _set_i32(writer: BytesWriter, at: i64, number: i64) -> None:
    """Set a number for which space was left."""
    writer[at] = u8((number >> 24) & 0xFF)
    writer[at + 1] = u8((number >> 16) & 0xFF)
    writer[at + 2] = u8((number >> 8) & 0xFF)
    writer[at + 3] = u8(number & 0xFF)
