"""Reads a send request in the JSON header form, as Java and Go write it: no spaces, `code` first.

It is as strict as wire/header_scan.py and reads escapes in the same way. But values stay in the
buffer or become bytes, instead of strings in a dict.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i64_le
from mypy_extensions import i64

from gantrymq.base.bounds import INT_MAX, INT_MIN
from gantrymq.store.record.send_fields import SendFields
from gantrymq.wire.header_scan import unescape

_ODD: Final = -1


@final
class JsonReader:
    """Reads one header after the other into `fields`.

    Each method gets the position where it begins, and returns the position where it ended, or _ODD;
    it also accepts _ODD. They use no conditional expressions, because mypyc would box the position.
    """

    __slots__ = (
        "_data",
        "_end",
        "_has_ext",
        "_is_escaped",
        "_number",
        "_unescaped",
        "_writer",
        "fields",
    )

    def __init__(self, fields: SendFields) -> None:
        self.fields: SendFields = fields
        self._data: bytes = b""
        self._end: i64 = 0
        # About the last text: whether it has escapes, and its unescaped value if so.
        self._is_escaped: bool = False
        self._unescaped: bytes = b""
        self._writer: BytesWriter = BytesWriter()
        self._number: i64 = 0
        self._has_ext: bool = False

    def read(self, data: bytes, start: i64, end: i64) -> bool:
        """Fill `fields` from the header data[start:end]; False if anything in it is unusual."""
        self.fields.clear()
        self._data = data
        self._end = end
        self._has_ext = False
        at = self._integer(self._word(start, b'{"code":'))
        if at == _ODD:
            return False
        self.fields.code = self._number
        if not self.fields.is_send:
            return False
        while at < end and data[at] == 0x2C:
            at = self._member(at + 1)
            if at == _ODD:
                return False
        return at + 1 == end and data[at] == 0x7D

    def _member(self, start: i64) -> i64:
        """Read a top-level key behind `code`, and its value."""
        if start + 1 >= self._end:
            return _ODD
        letter: i64 = self._data[start + 1]
        if letter == 0x65:
            return self._ext(self._word(start, b'"extFields":'))
        if letter == 0x66:
            at = self._integer(self._word(start, b'"flag":'))
            self.fields.command_flag = self._number
            return at
        if letter == 0x6F:
            at = self._integer(self._word(start, b'"opaque":'))
            self.fields.opaque = self._number
            return at
        if letter == 0x76:
            return self._integer(self._word(start, b'"version":'))
        return self._unused(start, letter)

    def _unused(self, start: i64, letter: i64) -> i64:
        """Read one of the keys whose text is not used. Escapes in it are not checked, so they are
        odd."""
        if letter == 0x6C:
            at = self._text(self._word(start, b'"language":'))
        elif letter == 0x73:
            at = self._text(self._word(start, b'"serializeTypeCurrentRPC":'))
        else:  # any other key is not the remark, hence odd
            at = self._text(self._word(start, b'"remark":'))
        if at == _ODD or self._is_escaped:
            return _ODD
        return at

    def _ext(self, at: i64) -> i64:
        """Read an object of texts."""
        data = self._data
        end = self._end
        if self._has_ext or at == _ODD or at >= end or data[at] != 0x7B:
            return _ODD
        self._has_ext = True
        while True:
            at = self._pair(at + 1)
            if at == _ODD or at >= end:
                return _ODD
            byte: i64 = data[at]
            if byte == 0x7D:
                return at + 1
            if byte != 0x2C:
                return _ODD

    def _pair(self, start: i64) -> i64:
        """Read a name and its value."""
        data = self._data
        at = self._text(start)
        if at == _ODD or self._is_escaped or at >= self._end or data[at] != 0x3A:
            return _ODD
        return self._value(self.fields.letter(data, start + 1, at - 1), at + 1)

    def _value(self, letter: i64, start: i64) -> i64:
        """Read a text, and store it in the field."""
        at = self._text(start)
        if at == _ODD:
            return _ODD
        if self._is_escaped:
            value = self._unescaped
            is_taken = self.fields.take_value(letter, value, 0, len(value))
        else:
            is_taken = self.fields.take_value(letter, self._data, start + 1, at - 1)
        if not is_taken:
            return _ODD
        return at

    def _word(self, start: i64, word: bytes) -> i64:
        """Skip exactly these bytes."""
        data = self._data
        length: i64 = len(word)
        if length > self._end - start:
            return _ODD
        index: i64 = 0
        while index + 8 <= length and read_i64_le(data, start + index) == read_i64_le(word, index):
            index += 8
        while index < length:
            if data[start + index] != word[index]:
                return _ODD
            index += 1
        return start + length

    def _text(self, start: i64) -> i64:
        """Read a text: it is data[start + 1 : end - 1], or `_unescaped` if it has escapes."""
        data = self._data
        end = self._end
        at: i64 = start + 1
        if start == _ODD or at >= end or data[start] != 0x22:
            return _ODD
        self._is_escaped = False
        while at < end:
            byte: i64 = data[at]
            if byte == 0x22:
                return at + 1
            if byte == 0x5C:
                self._is_escaped = True
                return self._unescape(start + 1, at)
            at += 1
        return _ODD

    def _unescape(self, start: i64, at: i64) -> i64:
        """Read a text that begins at `start` and has its first escape at `at`."""
        data = self._data
        writer = self._writer
        writer.truncate(0)
        writer.write(data[start:at])
        end = unescape(writer, data, at, self._end)
        self._unescaped = writer.getvalue()
        return end

    def _integer(self, start: i64) -> i64:
        """Read a 32-bit number into `_number`."""
        if start == _ODD:
            return _ODD
        data = self._data
        end = self._end
        negative = start < end and data[start] == 0x2D
        first = start + 1 if negative else start
        at = first
        number: i64 = 0
        while at < end and at - first < 11:
            digit = i64(data[at]) - 0x30
            if digit < 0 or digit > 9:
                break
            number = number * 10 + digit
            at += 1
        if at == first or (data[first] == 0x30 and at > first + 1):
            return _ODD
        if negative:
            number = -number
        self._number = number
        if not INT_MIN <= number <= INT_MAX:
            return _ODD
        return at
