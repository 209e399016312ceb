"""Encodes and decodes stored messages: one layout for logs, pull bodies, views and replication.

    field                       bytes     at, with both hosts IPv4
    total size                  4         0    of the whole record
    magic                       4         4    DAA320A7 version 1, DAA320AB version 2
    body CRC                    4         8    crc32 & 7FFFFFFF of the body as stored
    queue id                    4        12
    flag                        4        16    the user's
    queue offset                8        20
    physical offset             8        28    where this record begins in the commit log
    sysFlag                     4        36    sys_flag.py
    born timestamp              8        40    ms
    born host                   8 | 20   48    hosts.py; 20 with sysFlag bit 4
    store timestamp             8        56    ms
    store host                  8 | 20   64    20 with sysFlag bit 5
    reconsume times             4        72
    prepared transaction offset 8        76    of the half message, for committed ones
    body length, body           4 + n    84
    topic length, topic         1 + n         version 2: 2 + n
    properties length           2 + n         properties.py

Invariant (the reader's rule): the size computed from the parts is the total size, the body matches
its CRC; a decoded record is encoded to the same bytes again. The blank record at the end of a log
file is in record_scan.py.

Example, written by Java, 119 = 77h bytes ("broker inner" to TopicTest, KEYS=k):

    00000077 daa320a7 286b0971 00000001 00000000     size magic crc queue 1 flag 0
    0000000000000011 0000000000000000 00000000       queue offset 17, physical offset 0, sysFlag 0
    0000018bcfe56800 0a010203 0000d431               born 1700000000000 at 10.1.2.3:54321
    0000018bcfe5687b c0a80009 00002a9f               stored 123 ms later by 192.168.0.9:10911
    00000000 0000000000000000                        never retried, no transaction
    0000000c 62726f6b657220696e6e6572                body
    09 546f70696354657374   0007 4b455953016b02      topic, properties

A log may protect whole records by a last property of 20 bytes, `__CRC32#` 01 <digits> 02: ten
decimal digits, least significant first, of crc32 & 7FFFFFFF over the record without that property.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, final

from isal.isal_zlib import crc32
from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.properties import VALUE_END_BYTE

MAGIC_V1: Final = -626843481
MAGIC_V2: Final = -626843477

# Version 1 has a signed byte for the topic's length. Version 2 has room for 32767 bytes, but
# brokers accept topics up to 255 only.
TOPIC_BYTES_MAX_V1: Final = 127
TOPIC_BYTES_MAX: Final = 255

# The properties' length is a signed 16-bit number.
PROPERTIES_BYTES_MAX: Final = 32767

# Positions of fields that do not depend on the hosts.
MAGIC_POSITION: Final = 4
QUEUE_OFFSET_POSITION: Final = 20
PHYSICAL_OFFSET_POSITION: Final = 28
SYS_FLAG_POSITION: Final = 36
BORN_HOST_POSITION: Final = 48

CRC_MASK: Final = 0x7FFFFFFF
CRC_PROPERTY_BYTES: Final = 20
CRC_PROPERTY_NAME: Final = b"__CRC32#\x01"

# The size without hosts, the topic's length (as many bytes as the version number) and variable
# parts.
FIXED_BYTES: Final = 74

# The smallest record: IPv4 hosts, empty body, topic and properties.
RECORD_BYTES_MIN: Final = 91

# The layout up to and including the body's length, by the two host bits of sysFlag.
HEADS: Final = tuple(
    struct.Struct(f">iiiiiqqiq{born}sq{store}siqi") for store in (8, 20) for born in (8, 20)
)
BYTE_LENGTH: Final = struct.Struct(">b")
SHORT_LENGTH: Final = struct.Struct(">h")


class Unfit(Enum):
    """Why a message cannot become a record."""

    TOPIC_TOO_LONG = 1
    PROPERTIES_TOO_LONG = 2


@dataclass(frozen=True, slots=True)
class Refusal:
    cause: Unfit
    text: str


# The fields of a record; compiled classes have no __slots__ to ask.
_FIELDS: Final = (
    "body",
    "born_host",
    "born_timestamp_ms",
    "flag",
    "physical_offset",
    "prepared_transaction_offset",
    "properties",
    "queue_id",
    "queue_offset",
    "reconsume_times",
    "store_host",
    "store_timestamp_ms",
    "sys_flag",
    "topic",
    "version",
)


@final
class Record:
    """One stored message. Hot, hence slotted and not frozen; treat it as immutable all the same.

    Topic and properties are UTF-8 as stored, hosts are packed (hosts.py): most readers pass them on
    without decoding. Encoding sets the host bits of `sys_flag` by the hosts. `version` 0 chooses
    the oldest version that holds the topic; RocketMQ 4.9 reads only version 1.
    """

    __slots__ = _FIELDS

    def __init__(
        self,
        topic: bytes,
        body: bytes,
        *,
        properties: bytes = b"",
        queue_id: int = 0,
        flag: int = 0,
        queue_offset: int = 0,
        physical_offset: int = 0,
        sys_flag: int = 0,
        born_timestamp_ms: int = 0,
        born_host: bytes,
        store_timestamp_ms: int = 0,
        store_host: bytes,
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        version: int = 0,
    ) -> None:
        self.topic: bytes = topic
        self.body: bytes = body
        self.properties: bytes = properties
        self.queue_id: int = queue_id
        self.flag: int = flag
        self.queue_offset: int = queue_offset
        self.physical_offset: int = physical_offset
        self.sys_flag: int = sys_flag
        self.born_timestamp_ms: int = born_timestamp_ms
        self.born_host: bytes = born_host
        self.store_timestamp_ms: int = store_timestamp_ms
        self.store_host: bytes = store_host
        self.reconsume_times: int = reconsume_times
        self.prepared_transaction_offset: int = prepared_transaction_offset
        self.version: int = version or (1 if len(topic) <= TOPIC_BYTES_MAX_V1 else 2)

    @property
    def size(self) -> int:
        """The bytes of the record, without a CRC property that `encode` may add."""
        hosts = len(self.born_host) + len(self.store_host)
        variable = len(self.body) + len(self.topic) + len(self.properties)
        return FIXED_BYTES + hosts + self.version + variable

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    __hash__ = None  # type: ignore[assignment]  # mutable: must not become a key by accident

    def __reduce__(self) -> tuple[object, ...]:
        """Support copy and pickle, which cannot handle compiled classes."""
        return _remade, ({name: getattr(self, name) for name in _FIELDS},)

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in _FIELDS[1:]])
        return f"Record({fields}, body=<{len(self.body)} bytes>)"


# Any: each field has a type of its own.
def _remade(fields: Mapping[str, Any]) -> Record:
    return Record(**fields)


def body_crc(body: bytes) -> int:
    return crc32(body) & CRC_MASK


def refusal(topic_bytes: int, properties_bytes: int) -> Refusal | None:
    """Return why a topic and properties of these lengths cannot be stored; None if they can."""
    if topic_bytes > TOPIC_BYTES_MAX:
        return Refusal(
            Unfit.TOPIC_TOO_LONG,
            f"the topic has {topic_bytes} bytes, at most {TOPIC_BYTES_MAX} can be stored; "
            "choose a shorter name",
        )
    if properties_bytes > PROPERTIES_BYTES_MAX:
        return Refusal(
            Unfit.PROPERTIES_TOO_LONG,
            f"the properties have {properties_bytes} bytes, at most {PROPERTIES_BYTES_MAX} can be "
            "stored; move large values into the body",
        )
    return None


def encode(record: Record, *, append_crc: bool = False) -> bytes:
    """Return the record's bytes; `append_crc` adds a last property that protects all of them."""
    properties = record.properties
    properties_size = len(properties)
    if append_crc:
        if properties and not properties.endswith(VALUE_END_BYTE):
            properties += VALUE_END_BYTE
        properties_size = len(properties) + CRC_PROPERTY_BYTES
    topic = record.topic
    refused = refusal(len(topic), properties_size)
    if refused is not None:
        raise LocalError(refused.text)
    if record.version == 1 and len(topic) > TOPIC_BYTES_MAX_V1:
        raise LocalError(f"a topic of {len(topic)} bytes needs version 2, not 1")
    head = _head(record, properties_size - len(record.properties))
    topic_length = BYTE_LENGTH if record.version == 1 else SHORT_LENGTH
    data = b"".join(
        (
            head,
            record.body,
            topic_length.pack(len(topic)),
            topic,
            SHORT_LENGTH.pack(properties_size),
            properties,
        )
    )
    return data + crc_property(crc32(data)) if append_crc else data


def _head(record: Record, added: int) -> bytes:
    born_host = record.born_host
    store_host = record.store_host
    if len(born_host) not in {8, 20} or len(store_host) not in {8, 20}:
        raise LocalError("a packed host has 8 or 20 bytes")
    flags = sys_flag.with_hosts(record.sys_flag, born_host, store_host)
    try:
        return HEADS[(flags & sys_flag.HOSTS_MASK) >> 4].pack(
            record.size + added,
            MAGIC_V1 if record.version == 1 else MAGIC_V2,
            crc32(record.body) & CRC_MASK,
            record.queue_id,
            record.flag,
            record.queue_offset,
            record.physical_offset,
            flags,
            record.born_timestamp_ms,
            born_host,
            record.store_timestamp_ms,
            store_host,
            record.reconsume_times,
            record.prepared_transaction_offset,
            len(record.body),
        )
    except struct.error as error:
        raise LocalError(f"a field of the record exceeds its width: {error}") from error


def decode(buffer: bytes, position: int = 0, *, verify_body: bool = True) -> Record:
    """Decode the record at `position`; ignores what follows it.

    Without `verify_body` a wrong body CRC is accepted (checkCRCOnRecover=false, or a record whose
    CRC property was checked).
    """
    if position < 0 or len(buffer) - position < RECORD_BYTES_MIN:
        raise CorruptionError(f"record at {position}: too few bytes for a record")
    start: i64 = position
    version = _version(buffer, start)
    end = _end(buffer, start)
    flags: i64 = int(read_i32_be(buffer, start + SYS_FLAG_POSITION))
    born_host_end = start + BORN_HOST_POSITION + (20 if flags & sys_flag.BORN_HOST_V6 else 8)
    store_host_end = born_host_end + 8 + (20 if flags & sys_flag.STORE_HOST_V6 else 8)
    body_start = store_host_end + 16
    if body_start > end:
        raise CorruptionError(f"record at {position}: size {end - start} has no room for its hosts")
    body_length: i64 = int(read_i32_be(buffer, body_start - 4))
    body_end = body_start + body_length
    if body_length < 0 or body_end + version > end:
        raise CorruptionError(f"record at {position}: body length {body_length} is invalid")
    topic, properties = _tail(buffer, start, body_end, end, version)
    body = buffer[body_start:body_end]
    if verify_body and crc32(body) & CRC_MASK != int(read_i32_be(buffer, start + 8)):
        raise CorruptionError(f"record at {position}: the body does not match its CRC")
    return Record(
        topic,
        body,
        properties=properties,
        queue_id=int(read_i32_be(buffer, start + 12)),
        flag=int(read_i32_be(buffer, start + 16)),
        queue_offset=int(read_i64_be(buffer, start + QUEUE_OFFSET_POSITION)),
        physical_offset=int(read_i64_be(buffer, start + PHYSICAL_OFFSET_POSITION)),
        sys_flag=int(flags),
        born_timestamp_ms=int(read_i64_be(buffer, start + 40)),
        born_host=buffer[start + BORN_HOST_POSITION : born_host_end],
        store_timestamp_ms=int(read_i64_be(buffer, born_host_end)),
        store_host=buffer[born_host_end + 8 : store_host_end],
        reconsume_times=int(read_i32_be(buffer, store_host_end)),
        prepared_transaction_offset=int(read_i64_be(buffer, store_host_end + 4)),
        version=int(version),
    )


def _version(buffer: bytes, start: i64) -> i64:
    magic: i64 = int(read_i32_be(buffer, start + MAGIC_POSITION))
    if magic == MAGIC_V1:
        return 1
    if magic == MAGIC_V2:
        return 2
    raise CorruptionError(f"record at {start}: magic {magic & 0xFFFFFFFF:08x} is unknown")


def _end(buffer: bytes, start: i64) -> i64:
    """Return the end of the record according to its size field."""
    total: i64 = int(read_i32_be(buffer, start))
    left: i64 = len(buffer) - start
    if total < RECORD_BYTES_MIN or total > left:
        raise CorruptionError(f"record at {start}: size {total}, but {left} bytes are there")
    return start + total


def _tail(buffer: bytes, start: i64, topic_at: i64, end: i64, version: i64) -> tuple[bytes, bytes]:
    """Return topic and properties, which must end where the record ends."""
    topic_start = topic_at + version
    topic_length: i64 = buffer[topic_at]
    if version == 2:
        topic_length = topic_length << 8 | buffer[topic_at + 1]
    if topic_length >> (8 * version - 1):  # the length is signed
        topic_length -= 1 << (8 * version)
    properties_start = topic_start + topic_length + 2
    if topic_length < 0 or properties_start > end:
        raise CorruptionError(f"record at {start}: topic length {topic_length} is invalid")
    length: i64 = int(read_i16_be(buffer, properties_start - 2))
    if length < 0 or properties_start + length != end:
        raise CorruptionError(
            f"record at {start}: size {end - start}, but its parts add up to "
            f"{properties_start + length - start}"
        )
    return buffer[topic_start : properties_start - 2], buffer[properties_start:end]


def decode_all(buffer: bytes) -> list[Record]:
    """Decode every record of a pull or view body, which they must fill exactly."""
    records: list[Record] = []
    position: i64 = 0
    end: i64 = len(buffer)
    while position < end:
        records.append(decode(buffer, int(position)))
        position += int(read_i32_be(buffer, position))
    return records


def crc_property(crc: int) -> bytes:
    """Return the property of 20 bytes that protects a whole record."""
    return CRC_PROPERTY_NAME + f"{crc & CRC_MASK:010d}"[::-1].encode() + b"\x02"


def crc_property_holds(buffer: bytes, position: int, size: int) -> bool:
    """Return whether the record ends with a correct CRC property."""
    start = position + size - CRC_PROPERTY_BYTES
    if size < RECORD_BYTES_MIN + CRC_PROPERTY_BYTES or position + size > len(buffer):
        return False
    expected = crc_property(crc32(buffer[position:start]))
    return buffer[start : position + size] == expected
