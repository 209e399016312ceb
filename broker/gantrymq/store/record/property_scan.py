r"""Finds the few properties that the store acts on, in one pass over a message's properties.

    name \x01 value \x02 ...        as properties.py reads them: the last of a name that has a value

This module is written to be compiled: it compares names as numbers, skips long values eight bytes
at a time, and creates no objects but the values. Interpreted it is correct but slow.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_be, read_i64_le
from mypy_extensions import i64

# Four bytes of a name as one number.
_TAGS: Final = 0x54414753
_KEYS: Final = 0x4B455953
_WAIT: Final = 0x57414954
_DELA: Final = 0x44454C41
_UNIQ: Final = 0x554E4951
_KEY_OF_UNIQ: Final = 0x5F4B4559

_SESSION: Final = b"GANTRY_SESSION"
_SESSION_BYTES: Final = 14
_SHARDING_KEY: Final = b"__SHARDINGKEY"
_SHARDING_KEY_BYTES: Final = 13

_ONES: Final = 0x0101010101010101
_TWOS: Final = 0x0202020202020202


@final
class PropertyScan:
    """The properties that `read` found last; an absent one is empty. Reused for many messages."""

    __slots__ = (
        "delay",
        "has_other_names",
        "has_sharding_key",
        "keys",
        "session",
        "tags",
        "unique_key",
        "wait",
    )

    def __init__(self) -> None:
        self.tags: bytes = b""
        self.keys: bytes = b""
        self.wait: bytes = b""
        self.delay: bytes = b""
        self.unique_key: bytes = b""
        self.session: bytes = b""
        self.has_other_names: bool = False
        """Whether there are other names in RocketMQ's own style, in capitals."""
        self.has_sharding_key: bool = False
        """Whether the message is sent in order, by the key of its queue."""

    def read(self, data: bytes, start: i64, end: i64) -> None:
        """Read the properties in data[start:end]."""
        self.tags = self.keys = self.wait = self.delay = self.unique_key = self.session = b""
        self.has_other_names = self.has_sharding_key = False
        at: i64 = start
        while at < end:
            name_at = at
            while at < end and data[at] != 1 and data[at] != 2:
                at += 1
            value_at = at + 1
            at = _value_end(data, at, end)
            if at > value_at:
                self._take(data, name_at, value_at, at)
            at += 1

    def overlay(self, later: PropertyScan) -> None:
        """Change the values as if the properties of `later` had been read after these; the two
        flags stay."""
        self.tags = later.tags or self.tags
        self.keys = later.keys or self.keys
        self.wait = later.wait or self.wait
        self.delay = later.delay or self.delay
        self.unique_key = later.unique_key or self.unique_key

    def _take(self, data: bytes, name_at: i64, value_at: i64, end: i64) -> None:
        """Take one property that has a value."""
        length = value_at - 1 - name_at
        if length == 0 or data[name_at] >= 0x60:
            return
        first: i64 = 0
        if 4 <= length <= 8:
            first = i64(read_i32_be(data, name_at))
        if length == 4 and first == _TAGS:
            self.tags = data[value_at:end]
        elif length == 4 and first == _KEYS:
            self.keys = data[value_at:end]
        elif length == 4 and first == _WAIT:
            self.wait = data[value_at:end]
        elif length == 5 and first == _DELA and data[name_at + 4] == 0x59:
            self.delay = data[value_at:end]
        elif length == 8 and first == _UNIQ and read_i32_be(data, name_at + 4) == _KEY_OF_UNIQ:
            self.unique_key = data[value_at:end]
        else:
            self.has_other_names = True
            if length == _SESSION_BYTES and data[name_at : value_at - 1] == _SESSION:
                self.session = data[value_at:end]
            elif length == _SHARDING_KEY_BYTES and data[name_at : value_at - 1] == _SHARDING_KEY:
                self.has_sharding_key = True


def _value_end(data: bytes, at: i64, end: i64) -> i64:
    r"""The position of the first \x02 in data[at:end], or `end`."""
    while at + 8 <= end:
        # A byte of `word` is 0 where the data have a 2. Subtracting 1 from each byte sets the top
        # bit of a 0 byte, which was clear before; the byte above it may be hit too. (Compiled, the
        # subtraction may overflow. It wraps around, as needed: extensions are built with -fwrapv,
        # as CPython is.)
        word: i64 = read_i64_le(data, at) ^ _TWOS
        if ((word - _ONES) & ~word) >> 7 & _ONES:
            break
        at += 8
    while at < end and data[at] != 2:
        at += 1
    return at
