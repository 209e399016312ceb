"""A send request in the JSON header form, as Java and Go write it: no spaces, `code` first.

The same strictness as wire/header_scan.py, and its reading of escapes; but values stay where they
are, or become bytes, instead of texts in a map.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from gantrymq.store.send_fields import SendFields
from gantrymq.wire.header_scan import unescape

_INT32_MIN: Final = -2147483648
_INT32_MAX: Final = 2147483647


@final
class JsonReader:
    """Reads one header after the other into `fields`."""

    __slots__ = (
        "_data",
        "_end",
        "_has_ext",
        "_is_escaped",
        "_number",
        "_position",
        "_start",
        "_stop",
        "fields",
    )

    def __init__(self, fields: SendFields) -> None:
        self.fields: SendFields = fields
        self._data: bytes = b""
        self._position: i64 = 0
        self._end: i64 = 0
        # Of the text read last: what stands between its quotes, and whether escapes are in it.
        self._start: i64 = 0
        self._stop: i64 = 0
        self._is_escaped: bool = False
        self._number: i64 = 0
        self._has_ext: bool = False

    def read(self, data: bytes, start: i64, end: i64) -> bool:
        """Fill `fields` from the header data[start:end]; False when anything in it is odd."""
        self.fields.clear()
        self._data = data
        self._position = start
        self._end = end
        self._has_ext = False
        if not self._skip(b'{"code":') or not self._integer():
            return False
        self.fields.code = self._number
        if not self.fields.is_send:
            return False
        while self._step(0x2C):
            if not self._member():
                return False
        return self._step(0x7D) and self._position == end

    def _member(self) -> bool:
        """A top-level key behind `code`, and its value."""
        if self._skip(b'"extFields":'):
            return self._ext()
        if self._skip(b'"flag":'):
            is_read = self._integer()
            self.fields.command_flag = self._number
            return is_read
        if self._skip(b'"opaque":'):
            is_read = self._integer()
            self.fields.opaque = self._number
            return is_read
        if self._skip(b'"version":'):
            return self._integer()
        is_known = (
            self._skip(b'"language":')
            or self._skip(b'"serializeTypeCurrentRPC":')
            or self._skip(b'"remark":')
        )
        # Nothing is done with these, so an escape in one would not be judged.
        return is_known and self._text() and not self._is_escaped

    def _ext(self) -> bool:
        """An object of texts."""
        if self._has_ext or not self._step(0x7B):
            return False
        self._has_ext = True
        while self._pair():
            if not self._step(0x2C):
                return self._step(0x7D)
        return False

    def _pair(self) -> bool:
        """A name and its value."""
        if not self._text() or self._is_escaped or not self._step(0x3A):
            return False
        letter = self.fields.letter(self._data, self._start, self._stop)
        return self._text() and self._value(letter)

    def _value(self, letter: i64) -> bool:
        """Give the text that was read last to the field."""
        if not self._is_escaped:
            return self.fields.take_value(letter, self._data, self._start, self._stop)
        value = self._unescaped()
        return value is not None and self.fields.take_value(letter, value, 0, len(value))

    def _step(self, byte: i64) -> bool:
        """Step over this byte if it is what comes now."""
        position = self._position
        if position >= self._end or self._data[position] != byte:
            return False
        self._position = position + 1
        return True

    def _skip(self, word: bytes) -> bool:
        """Step over these bytes if they are what comes now."""
        data = self._data
        position = self._position
        length: i64 = len(word)
        if length > self._end - position:
            return False
        index: i64 = 0
        while index < length:
            if data[position + index] != word[index]:
                return False
            index += 1
        self._position = position + length
        return True

    def _text(self) -> bool:
        """Step over a text, which stands at `_start` to `_stop`."""
        data = self._data
        end = self._end
        position: i64 = self._position + 1
        if position >= end or data[position - 1] != 0x22:
            return False
        self._start = position
        self._is_escaped = False
        while position < end:
            byte: i64 = data[position]
            if byte == 0x22:
                self._stop = position
                self._position = position + 1
                return True
            if byte == 0x5C:
                self._is_escaped = True
                position += 1
            position += 1
        return False

    def _unescaped(self) -> bytes | None:
        """The text's bytes without escapes; None when one is odd."""
        writer = BytesWriter()
        if unescape(writer, self._data, self._start, self._end) < 0:
            return None
        return writer.getvalue()

    def _integer(self) -> bool:
        """Step over a 32-bit number, which is then `_number`."""
        data = self._data
        position = self._position
        negative = position < self._end and data[position] == 0x2D
        first = position + 1 if negative else position
        position = first
        number: i64 = 0
        while position < self._end and position - first < 11:
            digit = i64(data[position]) - 0x30
            if digit < 0 or digit > 9:
                break
            number = number * 10 + digit
            position += 1
        if position == first or (data[first] == 0x30 and position > first + 1):
            return False
        self._position = position
        self._number = -number if negative else number
        return _INT32_MIN <= self._number <= _INT32_MAX
