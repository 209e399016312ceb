"""Describes the commit log: its records of both versions, and the blank record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.wire.message import record as codec
from gantrymq.wire.message import record_scan
from gantrymq.wire.message.record import Record
from tools.formats import specimen
from tools.formats.layout import Example, Field, Part, Piece

LOG_FILE: Final = "commitlog/00000000000000000000"

_TOPIC_LENGTH_V1: Final = Field("topic length", "int8", "t, at most 127")

RECORD: Final = Part(
    "record",
    (
        Field("total size", "int32", "bytes of the whole record"),
        Field("magic", "hex32", "`DAA320A7` for version 1, `DAA320AB` for version 2"),
        Field("body CRC", "hex32", "CRC-32 of the stored body, without its highest bit"),
        Field("queue id", "int32", "the queue of the topic, from 0"),
        Field("flag", "int32", "belongs to the producer; brokers only carry it"),
        Field("queue offset", "int64", "number of the message in its queue"),
        Field("physical offset", "int64", "position of this record in the commit log"),
        Field("sysFlag", "int32", "bits, see below"),
        Field("born timestamp", "int64", "producer's clock, milliseconds"),
        Field("born host", "host", "producer; 8 bytes IPv4, or 20 with sysFlag bit 4", "h"),
        Field("store timestamp", "int64", "clock of the storing broker, milliseconds"),
        Field("store host", "host", "broker; 8 bytes IPv4, or 20 with sysFlag bit 5", "s"),
        Field("reconsume times", "int32", "how often a consumer group has retried it"),
        Field(
            "prepared transaction offset", "int64", "position of the half message, 0 without one"
        ),
        Field("body length", "int32", "b"),
        Field("body", "bytes", "as the producer sent it, compressed if sysFlag bit 0 is set", "b"),
        _TOPIC_LENGTH_V1,
        Field("topic", "text", "UTF-8", "t"),
        Field("properties length", "int16", "p"),
        Field("properties", "text", "names and values, see below", "p"),
    ),
)

_V2_FIELDS: Final = [
    Field("topic length", "int16", "t, at most 255") if each is _TOPIC_LENGTH_V1 else each
    for each in RECORD.fields
]
RECORD_V2: Final = Part("record of version 2", tuple(_V2_FIELDS))

BLANK: Final = Part(
    "blank record",
    (
        Field("total size", "int32", "all bytes that are left in the file"),
        Field("magic", "hex32", "`CBD43194`"),
    ),
)

HOST: Final = Part(
    "host",
    (
        Field("address", "bytes", "IPv4: 4 bytes, IPv6: 16 bytes, highest byte first", "4 or 16"),
        Field("port", "int32", "TCP port"),
    ),
)


def _piece(part: Part, record: Record) -> Piece:
    lengths = {
        "h": len(record.born_host),
        "s": len(record.store_host),
        "b": len(record.body),
        "t": len(record.topic),
        "p": len(record.properties),
    }
    return Piece(part, lengths)


def record_example() -> Sequence[str]:
    """The first record of the store."""
    data = specimen.content(LOG_FILE)
    record = codec.decode(data)
    return [*Example(data[: record.size], [_piece(RECORD, record)]).lines()]


def end_example() -> Sequence[str]:
    """A blank record as the store writes it where a file has no room for the next record."""
    data = specimen.full_file()
    end = specimen.end_of_records(data)
    rest = data[end:]
    zeros = Part("rest", (Field("rest of the file", "bytes", "zeros", "z"),))
    pieces = [Piece(BLANK), Piece(zeros, {"z": len(rest) - record_scan.BLANK_BYTES})]
    return [*Example(rest, pieces, start=end).lines()]


def version_2_example() -> Sequence[str]:
    """A record whose topic is too long for version 1, from the length of its body on."""
    record = Record(b"T" * 130, b"b", born_host=specimen.BORN_HOST, store_host=specimen.STORE_HOST)
    data = codec.encode(record)
    before = _before_body_length(data)
    part = Part(RECORD_V2.title, RECORD_V2.fields[-6:])
    return [*Example(data[before:], [_piece(part, record)], start=before).lines()]


def _before_body_length(data: bytes) -> int:
    record = codec.decode(data)
    return len(data) - len(record.body) - len(record.topic) - len(record.properties) - 8


def crc_example() -> Sequence[str]:
    """The last property of a record that has a sum over all of its bytes."""
    record = Record(b"T", b"b", born_host=specimen.BORN_HOST, store_host=specimen.STORE_HOST)
    data = codec.encode(record, append_crc=True)
    at = len(data) - codec.CRC_PROPERTY_BYTES
    part = Part(
        "property",
        (
            Field("name", "text", "", "n"),
            Field("separator", "int8", ""),
            Field("ten decimal digits, the lowest first", "text", "", "d"),
            Field("separator", "int8", ""),
        ),
    )
    return [*Example(data[at:], [Piece(part, {"n": 8, "d": 10})], start=at).lines()]
