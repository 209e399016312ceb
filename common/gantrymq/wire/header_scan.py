"""Reads JSON headers quickly, in the form that Java, Go and Gantry write, and in no other.

    {"code":310,"extFields":{"a":"PG","b":"TopicTest"},"flag":0,"language":"JAVA",...}

No blanks, known keys in any order, strings as ext values, 32-bit integers without a leading zero.
For anything else `scan` returns None, and header_json.parse decides. Invariant: if `scan` returns a
command, `parse` returns an equal one.

Written for the compiler: native integers, one look at each byte. Interpreted it is correct but
slow.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from gantrymq.base.bounds import INT_MAX, INT_MIN
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

_LANGUAGES: Final = {member.name: int(member) for member in LanguageCode}
_OTHER: Final = 7

_ODD: Final = 1099511627776  # the result of `integer` if there is none; fits no int32


def scan(data: bytes, start: i64, end: i64) -> Command | None:
    """Decode the header data[start:end]; None if it has any other form."""
    scanner = _Scanner(data, start, end)
    command = Command(0)
    if not scanner.skip(b"{"):
        return None
    while scanner.member(command):
        if scanner.skip(b","):
            continue
        return command if scanner.skip(b"}") and scanner.position == end else None
    return None


@final
class _Scanner:
    """A position in data. Each method moves it over what it reads, or reports another form."""

    __slots__ = ("_ascii", "_data", "_end", "_start", "position")

    def __init__(self, data: bytes, start: i64, end: i64) -> None:
        self._data: bytes = data
        self._start: i64 = start
        self._end: i64 = end
        self.position: i64 = start
        # An ASCII header is decoded as a whole: a slice of that text makes one object, decoding a
        # slice of data makes two.
        self._ascii: str = _decoded(data[start:end])
        if len(self._ascii) != end - start:
            self._ascii = ""

    def skip(self, word: bytes) -> bool:
        """Advance over these bytes if they come next."""
        data = self._data
        position = self.position
        length: i64 = len(word)
        if length > self._end - position:
            return False
        index: i64 = 0
        while index < length:
            if data[position + index] != word[index]:
                return False
            index += 1
        self.position = position + length
        return True

    def member(self, command: Command) -> bool:
        """Read a top-level key and its value into the command."""
        number: i64 = 0
        if self.skip(b'"code":'):
            number = self.integer()
            command.code = int(number)
        elif self.skip(b'"extFields":'):
            command.ext = self.fields()
            return command.ext is not None
        elif self.skip(b'"flag":'):
            number = self.integer()
            command.flag = int(number)
        elif self.skip(b'"language":'):
            language = self.string()
            command.language = _OTHER if language is None else _LANGUAGES.get(language, _OTHER)
            return language is not None
        elif self.skip(b'"opaque":'):
            number = self.integer()
            command.opaque = int(number)
        elif self.skip(b'"remark":'):
            command.remark = self.string()
            return command.remark is not None
        elif self.skip(b'"version":'):
            number = self.integer()
            command.version = int(number)
        else:
            return self.skip(b'"serializeTypeCurrentRPC":') and self.string() is not None
        return number != _ODD

    def fields(self) -> dict[str, str] | None:
        """Read an object of strings."""
        if not self.skip(b"{"):
            return None
        ext: dict[str, str] = {}
        if self.skip(b"}"):
            return ext
        while True:
            name = self.string()
            if name is None or not self.skip(b":"):
                return None
            value = self.string()
            if value is None:
                return None
            ext[name] = value
            if not self.skip(b","):
                return ext if self.skip(b"}") else None

    def integer(self) -> i64:
        data = self._data
        start = self.position
        negative = start < self._end and data[start] == 0x2D
        first = start + 1 if negative else start
        position = first
        number: i64 = 0
        while position < self._end and position - first < 11:
            digit = i64(data[position]) - 0x30
            if digit < 0 or digit > 9:
                break
            number = number * 10 + digit
            position += 1
        # A leading zero, no digits, and numbers beyond int32 are left to `parse`.
        if position == first or (data[first] == 0x30 and position > first + 1):
            return _ODD
        self.position = position
        if negative:
            number = -number
        return number if INT_MIN <= number <= INT_MAX else _ODD

    def string(self) -> str | None:
        data = self._data
        end = self._end
        start = self.position + 1
        if start >= end or data[start - 1] != 0x22:
            return None
        position = start
        while position < end:
            byte = data[position]
            if byte == 0x22:
                self.position = position + 1
                if self._ascii:
                    return self._ascii[start - self._start : position - self._start]
                return _decoded(data[start:position])
            if byte == 0x5C:
                return self._escaped(start, position)
            position += 1
        return None

    def _escaped(self, start: i64, position: i64) -> str | None:
        """Read a string that began at start and has its first backslash at position."""
        writer = BytesWriter()
        writer.write(self._data[start:position])
        position = unescape(writer, self._data, position, self._end)
        if position < 0:
            return None
        self.position = position
        return _decoded(writer.getvalue())


def unescape(writer: BytesWriter, data: bytes, position: i64, end: i64) -> i64:
    """Write the unescaped string from position on; returns the position after its quote, or -1."""
    while position < end:
        byte = data[position]
        if byte == 0x22:
            return position + 1
        if byte != 0x5C:
            writer.append(byte)
            position += 1
            continue
        if position + 1 >= end:
            return -1
        kind = i64(data[position + 1])
        if kind == 0x75:
            unit = _hexadecimal(data, position + 2, end)
            if not _append_utf8(writer, unit):
                return -1
            position += 6
            continue
        plain = _unescaped(kind)
        if plain == 0:
            return -1
        writer.append(u8(plain))
        position += 2
    return -1


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace")


def _unescaped(kind: i64) -> i64:
    """The character that an escape with this letter means; 0 if JSON has no such escape."""
    if kind == 0x22:
        return kind
    if kind == 0x5C:
        return kind
    if kind == 0x2F:
        return kind
    if kind == 0x6E:
        return 0x0A
    if kind == 0x74:
        return 0x09
    if kind == 0x72:
        return 0x0D
    if kind == 0x62:
        return 0x08
    if kind == 0x66:
        return 0x0C
    return 0


def _hexadecimal(data: bytes, start: i64, end: i64) -> i64:
    """The value of four hexadecimal digits; -1 if they are not."""
    if start + 4 > end:
        return -1
    unit: i64 = 0
    position = start
    while position < start + 4:
        digit = i64(data[position])
        if 0x30 <= digit <= 0x39:
            digit -= 0x30
        elif 0x41 <= digit <= 0x46:
            digit -= 0x37
        elif 0x61 <= digit <= 0x66:
            digit -= 0x57
        else:
            return -1
        unit = unit * 16 + digit
        position += 1
    return unit


def _append_utf8(writer: BytesWriter, unit: i64) -> bool:
    """Write a character of at most 16 bits; False for half a surrogate pair, and for -1."""
    if unit < 0 or 0xD800 <= unit <= 0xDFFF:
        return False
    if unit < 0x80:
        writer.append(u8(unit))
    elif unit < 0x800:
        writer.append(u8(0xC0 | unit >> 6))
        writer.append(u8(0x80 | unit & 0x3F))
    else:
        writer.append(u8(0xE0 | unit >> 12))
        writer.append(u8(0x80 | unit >> 6 & 0x3F))
        writer.append(u8(0x80 | unit & 0x3F))
    return True
