r"""The few properties that a store acts upon, found in one pass over a message's properties.

    name \x01 value \x02 ...        as properties.py reads them: the last of a name that has a value

Written for the compiler: one look at each byte, no object but the values. Interpreted it is right
but slow.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64


@final
class PropertyScan:
    """Filled by `read`, again and again; what is absent is empty."""

    __slots__ = ("delay", "has_other_names", "keys", "tags", "unique_key", "wait")

    def __init__(self) -> None:
        self.tags: bytes = b""
        self.keys: bytes = b""
        self.wait: bytes = b""
        self.delay: bytes = b""
        self.unique_key: bytes = b""
        self.has_other_names: bool = False
        """Whether a name in RocketMQ's own style, in capitals, is there besides."""

    def read(self, data: bytes, start: i64, end: i64) -> None:
        """The properties are data[start:end]."""
        self.tags = self.keys = self.wait = self.delay = self.unique_key = b""
        self.has_other_names = False
        at: i64 = start
        while at < end:
            name_at = at
            while at < end and data[at] != 1 and data[at] != 2:
                at += 1
            value_at = at + 1
            while at < end and data[at] != 2:
                at += 1
            if at > value_at:
                self._take(data, name_at, value_at, at)
            at += 1

    def overlay(self, later: PropertyScan) -> None:
        """As if those of `later` had been read behind these; names stay as they are."""
        self.tags = later.tags or self.tags
        self.keys = later.keys or self.keys
        self.wait = later.wait or self.wait
        self.delay = later.delay or self.delay
        self.unique_key = later.unique_key or self.unique_key

    def _take(self, data: bytes, name_at: i64, value_at: i64, end: i64) -> None:
        """One property that has a value."""
        length = value_at - 1 - name_at
        if length == 0 or data[name_at] >= 0x60:
            return
        name = data[name_at : value_at - 1] if 4 <= length <= 8 else b""
        if name == b"TAGS":
            self.tags = data[value_at:end]
        elif name == b"KEYS":
            self.keys = data[value_at:end]
        elif name == b"WAIT":
            self.wait = data[value_at:end]
        elif name == b"DELAY":
            self.delay = data[value_at:end]
        elif name == b"UNIQ_KEY":
            self.unique_key = data[value_at:end]
        else:
            self.has_other_names = True
