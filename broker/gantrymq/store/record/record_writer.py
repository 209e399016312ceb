"""Writes records field by field, as wire/message/record.py encodes them, without a Record object.

This module is written to be compiled. Invariant: the bytes equal `record.encode` for version 1.
"""

from __future__ import annotations

from typing import Final, final

from isal.isal_zlib import crc32
from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i16, i32, i64

from gantrymq.store.record.send_fields import SendFields

_MAGIC_V1: Final = -626843481
_FIXED: Final = 75  # all but hosts, body, topic and properties
_HOSTS_MASK: Final = 0x30


@final
class RecordWriter:
    """Writes the records of one broker, for one sender after the other."""

    __slots__ = ("_born_host", "_host_bits", "_hosts_bytes", "_store_host")

    def __init__(self, store_host: bytes) -> None:
        self._store_host: bytes = store_host
        self._born_host: bytes = store_host
        self._host_bits: i64 = 0
        self._hosts_bytes: i64 = 0
        self.begin(store_host)

    def begin(self, born_host: bytes) -> None:
        """Set the sender's packed host for the following messages."""
        self._born_host = born_host
        self._hosts_bytes = len(born_host) + len(self._store_host)
        self._host_bits = 0x10 if len(born_host) == 20 else 0
        if len(self._store_host) == 20:
            self._host_bits |= 0x20

    def size(self, body_bytes: i64, topic_bytes: i64, properties_bytes: i64) -> i64:
        return _FIXED + self._hosts_bytes + body_bytes + topic_bytes + properties_bytes

    def sys_flag(self, fields: SendFields) -> i64:
        """The flag as stored. The sender's bits about host addresses are replaced."""
        return (fields.sys_flag & ~_HOSTS_MASK) | self._host_bits

    def write(
        self,
        writer: BytesWriter,
        fields: SendFields,
        body: bytes,
        properties: bytes,
        *,
        queue_offset: i64,
        physical_offset: i64,
        store_timestamp_ms: i64,
    ) -> None:
        topic = fields.topic
        body_bytes: i64 = len(body)
        topic_bytes: i64 = len(topic)
        properties_bytes: i64 = len(properties)
        write_i32_be(writer, i32(self.size(body_bytes, topic_bytes, properties_bytes)))
        write_i32_be(writer, _MAGIC_V1)
        crc: i64 = crc32(body) & 0x7FFFFFFF
        write_i32_be(writer, i32(crc))
        write_i32_be(writer, i32(fields.queue_id))
        write_i32_be(writer, i32(fields.flag))
        write_i64_be(writer, queue_offset)
        write_i64_be(writer, physical_offset)
        write_i32_be(writer, i32(self.sys_flag(fields)))
        write_i64_be(writer, fields.born_timestamp_ms)
        writer.write(self._born_host)
        write_i64_be(writer, store_timestamp_ms)
        writer.write(self._store_host)
        write_i32_be(writer, i32(fields.reconsume_times))
        write_i64_be(writer, 0)
        write_i32_be(writer, i32(body_bytes))
        writer.write(body)
        writer.append(int(topic_bytes))
        writer.write(topic)
        write_i16_be(writer, i16(properties_bytes))
        writer.write(properties)
