"""Encodes and decodes the binary ("ROCKETMQ") form of a header; big endian.

    int16 code | int8 language | int16 version | int32 opaque | int32 flag
    int32 length | remark                                       length 0: no remark
    int32 length | { int16 length | name | int32 length | value } ...   length 0: no ext

A code above 32767 cannot be written. Java does not distinguish empty and missing here: an empty
remark and an empty ext are decoded as None; an empty value stays an empty text. As in Java, bytes
that are not UTF-8 become U+FFFD, an unknown language is OTHER, and bytes after the ext are ignored;
a length that exceeds its container makes the header invalid.
"""

from __future__ import annotations

from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    write_i16_be,
    write_i32_be,
)
from mypy_extensions import i16, i32, i64

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

_OTHER: Final = 7
_LANGUAGE_COUNT: Final = len(LanguageCode)
_BINARY: Final = 1

_REMARK_AT: Final = 13  # after the fields of fixed size
_SMALLEST: Final = 21


def decode(data: bytes, start: i64, end: i64) -> Command:
    """Decode the binary header data[start:end] to a command without a body."""
    if end - start < _SMALLEST:
        raise RemoteError(f"a binary header has at least {_SMALLEST} bytes, not {end - start}")
    language = data[start + 2]
    position: i64 = start + _REMARK_AT
    remark: str | None = None
    length: i64 = int(read_i32_be(data, position))
    position += 4
    if length < 0 or length > end - position - 4:
        raise _lie("remark", length, end - position - 4)
    if length > 0:
        remark = _text(data[position : position + length])
        position += length
    ext: dict[str, str] | None = None
    length = int(read_i32_be(data, position))
    position += 4
    if length < 0 or length > end - position:
        raise _lie("ext", length, end - position)
    if length > 0:
        ext = _read_ext(data, position, position + length)
    return Command(
        int(read_i16_be(data, start)),
        opaque=int(read_i32_be(data, start + 5)),
        flag=int(read_i32_be(data, start + 9)),
        language=language if language < _LANGUAGE_COUNT else _OTHER,
        version=int(read_i16_be(data, start + 3)),
        remark=remark,
        ext=ext,
        encoding=_BINARY,
    )


def _read_ext(data: bytes, position: i64, end: i64) -> dict[str, str]:
    ext: dict[str, str] = {}
    length: i64 = 0
    while position < end:
        if end - position < 2:
            raise _lie("ext name", 2, end - position)
        length = int(read_i16_be(data, position))
        position += 2
        if length < 0 or length > end - position - 4:
            raise _lie("ext name", length, end - position - 4)
        name = _text(data[position : position + length])
        position += length
        length = int(read_i32_be(data, position))
        position += 4
        if length < 0 or length > end - position:
            raise _lie("ext value", length, end - position)
        ext[name] = _text(data[position : position + length])
        position += length
    return ext


def _text(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return piece.decode("utf-8", "replace")


def _lie(what: str, length: i64, room: i64) -> RemoteError:
    return RemoteError(
        f"the binary header says its {what} has {length} bytes where there is room for {room}"
    )


def encode(command: Command) -> bytes:
    """The binary header of a command."""
    writer = BytesWriter()
    write_i16_be(writer, i16(_within("code", command.code, 0x7FFF)))
    language = command.language
    writer.append(language if 0 <= language < _LANGUAGE_COUNT else _OTHER)
    write_i16_be(writer, i16(_within("version", command.version, 0x7FFF)))
    write_i32_be(writer, i32(_within("opaque", command.opaque, 0x7FFFFFFF)))
    write_i32_be(writer, i32(_within("flag", command.flag, 0x7FFFFFFF)))
    remark = b"" if command.remark is None else command.remark.encode("utf-8", "replace")
    write_i32_be(writer, i32(len(remark)))
    writer.write(remark)
    fields = BytesWriter()
    if command.ext is not None:
        for name, value in command.ext.items():
            key = name.encode("utf-8", "replace")
            write_i16_be(fields, i16(_within("length of an ext name", len(key), 0x7FFF)))
            fields.write(key)
            text = value.encode("utf-8", "replace")
            write_i32_be(fields, i32(len(text)))
            fields.write(text)
    ext = fields.getvalue()
    write_i32_be(writer, i32(len(ext)))
    writer.write(ext)
    return writer.getvalue()


def _within(what: str, number: int, most: int) -> int:
    if -most - 1 <= number <= most:
        return number
    raise LocalError(f"{what} {number} does not fit into a binary header; use the JSON form")
