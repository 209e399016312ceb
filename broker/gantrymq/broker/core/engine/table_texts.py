"""Caches the encoded text of each entry of a table in a configuration file.

Each change writes the whole file, and the largest tables have 100 000 entries. So the file is
joined from cached texts. When more than STALE_MAX entries are stale, a change encodes the oldest
of them, so that few are left to encode when the file is written.

Invariant: at most STALE_MAX cached texts are stale, and `text` encodes these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar, final

from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json

K = TypeVar("K")

# Encoding so many entries takes a millisecond when the file is written. An entry that changes all
# the time is encoded once in so many changes of other entries.
STALE_MAX: Final = 64


@final
class EntryTexts(Generic[K]):
    """The texts of one table. `text_of` encodes the entry of a key in the table: see `member`."""

    __slots__ = ("_stale", "_text_of", "_texts")

    def __init__(self, text_of: Callable[[K], bytes]) -> None:
        self._text_of = text_of
        self._texts: dict[K, bytes] = {}
        self._stale: dict[K, None] = {}

    def __len__(self) -> int:
        """The number of entries of the table."""
        return len(self._texts)

    def changed(self, key: K) -> None:
        """Note that the entry is new or has changed."""
        self._texts.setdefault(key, b"")
        self._stale[key] = None
        if len(self._stale) > STALE_MAX:
            oldest = next(iter(self._stale))
            del self._stale[oldest]
            self._texts[oldest] = self._text_of(oldest)

    def removed(self, key: K) -> None:
        self._texts.pop(key, None)
        self._stale.pop(key, None)

    def text(self, instead: Mapping[K, bytes] | None = None) -> bytes:
        """The text of the whole table; `instead` replaces the texts of some entries."""
        for key in self._stale:
            self._texts[key] = self._text_of(key)
        self._stale.clear()
        texts = {**self._texts, **instead} if instead else self._texts
        return b"{" + b",".join(texts.values()) + b"\n\t}" if texts else b"{}"


def member(name: str, value: Json) -> bytes:
    """The text of one entry as javajson.dumps_pretty writes it, two levels inside the file."""
    pretty = javajson.dumps_pretty({name: value})
    # Remove the braces and indent by one more level: JSON strings contain no bare newline.
    return pretty[1:-2].replace(b"\n", b"\n\t")
